//! Descriptions of records: each macro here makes the encoder and the decoder of one description.

/// Implements [`Field`](crate::field::Field) for an enum. Each line describes a record: its tag, its fields in the
/// order of their bytes, and the value that they make. The decoder reads a line from left to right, the encoder from
/// right to left: the first line that fits a value writes it.
///
/// A field is a variable, or variables within a type that gives them other bytes, as in `Capped(balance)`. If two lines
/// have one tag, `if` names the test of the bytes behind it by which the first one is chosen. The arms of `put` and
/// `take` write and read the values that no line describes.
macro_rules! records {
    (
        $enum:ident, $name:literal {
            $($tag:literal $(if $test:path)?: $($field:ident $(($($inner:ident),*))?),* => $variant:ident $value:tt;)*
        }
        put($out:ident) { $($put:tt)* }
        take($bytes:ident) { $($take:tt)* }
    ) => {
        impl $crate::field::Field for $enum {
            const NAME: &'static str = $name;

            fn put(&self, $out: &mut Vec<u8>) {
                match *self {
                    $($enum::$variant $value => {
                        $out.push($tag);
                        $($crate::field::Field::put(&$field $(($($inner),*))?, $out);)*
                    })*
                    $($put)*
                }
            }

            fn take($bytes: &mut &[u8]) -> Result<$enum, $crate::varint::CodecError> {
                match $crate::varint::take_u8($bytes)? {
                    $($tag $(if $test($bytes))? => {
                        $(let $field $(($($inner),*))? = $crate::field::Field::take($bytes)?;)*
                        Ok($enum::$variant $value)
                    })*
                    $($take)*
                }
            }
        }
    };
}

/// Implements [`Field`](crate::field::Field) for structs, whose encoding is that of the named fields, one behind the
/// other.
macro_rules! structs {
    ($($struct:ident, $name:literal: $($field:ident),*;)*) => {$(
        impl $crate::field::Field for $struct {
            const NAME: &'static str = $name;

            fn put(&self, out: &mut Vec<u8>) {
                $($crate::field::Field::put(&self.$field, out);)*
            }

            fn take(bytes: &mut &[u8]) -> Result<$struct, $crate::varint::CodecError> {
                Ok($struct { $($field: $crate::field::Field::take(bytes)?),* })
            }
        }
    )*};
}

/// Implements [`Field`](crate::field::Field) for a struct that has a constant `NONE`. An integer is written whose bits
/// say which fields are not as in `NONE`, and then these fields. A line has a bit and its field, and perhaps a type
/// that gives the field other bytes. A line of `marks` has a field with one other value, for which the bit alone is
/// written. Values that are not `sound` are neither written nor read.
macro_rules! parts {
    (
        $struct:ident, $name:literal {
            $($bit:literal: $part:ident $(as $form:ident)?;)*
            marks { $($mark_bit:literal: $mark:ident = $marked:expr;)* }
            sound { $is_sound:expr, $invariant:literal }
        }
    ) => {
        const ALL: u64 = 0 $(| $bit)* $(| $mark_bit)*;

        fn bits(parts: &$struct) -> u64 {
            let mut bits = 0;
            $(if parts.$part != $struct::NONE.$part { bits |= $bit; })*
            $(if parts.$mark != $struct::NONE.$mark { bits |= $mark_bit; })*
            bits
        }

        impl $crate::field::Field for $struct {
            const NAME: &'static str = $name;

            #[allow(unused_parens)]
            fn put(&self, out: &mut Vec<u8>) {
                let parts = Some(self).filter(|parts| $is_sound(parts)).expect($invariant);
                $crate::varint::put_u64(out, bits(parts));
                $(if parts.$part != $struct::NONE.$part {
                    $crate::field::Field::put(&$($form)?(parts.$part), out);
                })*
            }

            #[allow(unused_parens)]
            fn take(bytes: &mut &[u8]) -> Result<$struct, $crate::varint::CodecError> {
                let found = $crate::varint::take_u64(bytes)?;
                if found & !ALL != 0 {
                    return Err(Self::fault());
                }
                let mut parts = $struct::NONE;
                $(if found & $bit != 0 {
                    let $($form)?(part) = $crate::field::Field::take(bytes)?;
                    parts.$part = part;
                })*
                $(if found & $mark_bit != 0 { parts.$mark = $marked; })*
                // A part that is as in `NONE` is never written.
                if bits(&parts) == found && $is_sound(&parts) { Ok(parts) } else { Err(Self::fault()) }
            }
        }
    };
}

pub(crate) use {parts, records, structs};
