//! Bounds the memory that clients can fill: with replies that they do not read, or with requests that they do not
//! finish. At the bound the connections that hold the most are closed. Each worker has its share of the bound, and
//! looks at its own connections only.

use std::sync::atomic::Ordering;

use crate::connection::Connection;
use crate::worker::Worker;

impl Worker {
    /// Refuses the longest unfinished requests while all of them take more than this worker's share of the bound. So a
    /// client that sends a normal request in two pieces is not refused because of others that hoard theirs.
    pub(crate) fn refuse_largest_partial(&mut self) {
        let max = self.settings.partial_bytes_max;
        while self.partial_bytes > max / self.settings.workers {
            let held = self.connections.iter().map(|(slot, connection)| (connection.partial_bytes(), slot));
            let Some((held, slot)) = held.max() else { return };
            let why = format!(
                "too many unfinished requests: the server holds at most {max} bytes of them, and of this one held {held}; \
                 send the whole request at once"
            );
            self.connections[slot].refuse(slot, &why, &mut self.intake);
            self.finish(slot, false);
        }
    }

    /// Disconnects the slowest readers while unread replies take more than this worker's share of the bound.
    pub(crate) fn shed_slow_readers(&mut self) {
        let max = self.settings.unread_bytes_max / self.settings.workers;
        // The common case needs no look at each connection's waiting replies: it counts only the replies that were
        // made.
        let unsent = |connection: &Connection| connection.unsent_bytes();
        let mut unread: usize = self.connections.iter().map(|(_, connection)| unsent(connection)).sum();
        if unread + self.waiting.kept_bytes() <= max {
            return;
        }
        let held = |connection: &Connection| {
            let waiting = connection.later.front().map_or(0, |later| self.waiting.bytes_of(later.kept));
            connection.unsent_bytes() + waiting
        };
        let mut slow: Vec<(usize, usize)> =
            self.connections.iter().map(|(slot, connection)| (held(connection), slot)).collect();
        slow.sort_unstable();
        let mut shed = 0u64;
        while let Some((_, slot)) = slow.pop().filter(|(held, _)| *held > 0 && unread + self.waiting.kept_bytes() > max)
        {
            unread -= self.connections[slot].unsent_bytes();
            self.close(slot);
            shed += 1;
        }
        self.note_shed(shed);
    }

    /// Counts clients that were disconnected because they do not read.
    pub(crate) fn note_shed(&self, shed: u64) {
        if shed > 0 {
            self.shared.connections_shed.fetch_add(shed, Ordering::Relaxed);
            tracing::warn!(
                shed,
                bound = self.settings.unread_bytes_max,
                "disconnected clients that do not read their replies"
            );
        }
    }
}
