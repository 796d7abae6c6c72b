//! What of an object one message carries, and why.

/// A part of an object that fits into one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) enum Part {
    /// NORM_INFO.
    Info,
    /// A source symbol.
    Source { block: u32, symbol: u16 },
    /// Parity `number`; the `ahead` numbers from it on will be wanted soon (at least 1).
    Parity { block: u32, number: u16, ahead: u16 },
}

/// Why a part is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) enum Purpose {
    /// For the first time.
    First,
    /// In a later round of a carousel.
    Again,
    /// Parity that nobody requested.
    Proactive,
    /// Parity never sent before, for repair.
    Parity,
    /// What was requested by name.
    Explicit,
}

/// What to send, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) struct Piece {
    pub(in crate::sender) part: Part,
    pub(in crate::sender) purpose: Purpose,
}
