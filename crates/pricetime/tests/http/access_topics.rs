//! Who is told what over WebSockets, and until when.
