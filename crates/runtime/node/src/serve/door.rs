//! The sockets by which something comes.

/// Socket by which a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketDoor {
    /// That of the group.
    Group,
    /// That of this member alone, from which it speaks.
    Own,
    /// That of the machine, at the group's port: calls come there, and more only where nothing leads to
    /// the member's own.
    Machine,
}
