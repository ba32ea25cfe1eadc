//! A field of a record: a value that writes itself as bytes, and is read of them. This file does not know any type of
//! field (`values.rs`), nor which command or state item has which fields (`codec.rs`, `state_codec.rs`).

use crate::varint::CodecError;

/// A value that has one encoding.
pub(crate) trait Field: Sized {
    /// The name of the value in errors.
    const NAME: &'static str;

    /// Appends the value. Panics on an amount that no parser lets in: once written, it could never be read again.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes a value from the front of `bytes`. It never panics, whatever the bytes are.
    fn take(bytes: &mut &[u8]) -> Result<Self, CodecError>;

    /// The error for bytes that are no such value.
    fn fault() -> CodecError {
        CodecError::OutOfBounds(Self::NAME)
    }
}

/// Appends a value if there is one. Bytes before it say whether there is.
pub(crate) fn put_if_any<T: Field>(value: Option<T>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        value.put(out);
    }
}

/// Takes a value if there is one.
pub(crate) fn take_if<T: Field>(is_there: bool, bytes: &mut &[u8]) -> Result<Option<T>, CodecError> {
    is_there.then(|| T::take(bytes)).transpose()
}
