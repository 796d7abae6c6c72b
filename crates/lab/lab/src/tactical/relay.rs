//! Who carries the sender's messages.

use std::{fmt, str::FromStr};

use crate::name;

/// Who carries the sender's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relay {
    /// This program: `fanfare node` on all ten.
    Fanfare,
    /// NRL's NORM, on the sender and the subscribers: the others have no part in it.
    Norm,
}

impl Relay {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Fanfare, Self::Norm];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Norm => "norm",
        }
    }
}

impl fmt::Display for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Relay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "has no part in this table")
    }
}
