//! The nodes of a cluster, and the identity of their messages in the log that they share.

use std::fmt;
use std::num::NonZeroU16;

/// A node of a cluster: 1 to 65,535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU16);

impl NodeId {
    /// The node with this number; none for zero.
    pub fn new(number: u16) -> Option<NodeId> {
        NonZeroU16::new(number).map(NodeId)
    }

    /// The number of the node.
    pub fn number(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The identity of a message of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogMessage {
    /// The position in the log: from 1, and above that of the message before.
    pub position: u64,
    /// The node that wrote it.
    pub node: NodeId,
    /// The number of times that its writer had begun when it wrote it, from 1.
    pub epoch: u32,
    /// The number in its epoch. Number 0 begins the epoch.
    pub number: u64,
}
