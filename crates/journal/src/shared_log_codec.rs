//! A message of the shared log as bytes, in commands and in state: its position, its writer, and its number there.

use terms::{LogMessage, NodeId};

use crate::varint::{CodecError, put_u64, take_u64};

pub(crate) fn put_message(out: &mut Vec<u8>, message: LogMessage) {
    let LogMessage { position, node, epoch, number } = message;
    put_u64(out, position);
    put_u64(out, node.number().into());
    put_u64(out, epoch.into());
    put_u64(out, number);
}

pub(crate) fn take_message(bytes: &mut &[u8]) -> Result<LogMessage, CodecError> {
    let position = take_u64(bytes)?;
    let node = u16::try_from(take_u64(bytes)?).ok().and_then(NodeId::new).ok_or(CodecError::OutOfBounds("node"))?;
    let epoch = u32::try_from(take_u64(bytes)?).map_err(|_| CodecError::OutOfBounds("epoch"))?;
    Ok(LogMessage { position, node, epoch, number: take_u64(bytes)? })
}
