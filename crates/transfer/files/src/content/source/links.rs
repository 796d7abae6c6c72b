//! What becomes of symbolic links.

/// What becomes of symbolic links in directories that lead out of them. Those that stay inside are sent
/// as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Nothing is sent, and the first of them is named.
    #[default]
    Refuse,
    /// They are sent as they are; receivers have to allow that.
    Keep,
    /// What they lead to is sent in their place.
    Follow,
    /// They are left out.
    Skip,
}
