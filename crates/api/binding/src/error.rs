//! Why something was not done, as programs in other languages are told.

use std::{fmt, io};

use fanfare::{
    files::{SourceError, TransferError},
    groups::{BodyError, GroupError, JoinError, TopicError},
    stream::StreamGap,
};
use fanfare_files::plain::Failure;

/// What a program can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing came in time. Ask again.
    Timeout,
    /// It has ended: nothing more will come, or be taken.
    Ended,
    /// Bytes of a stream are lost. Reading goes on behind them.
    Gap {
        /// Position of the first that is lost.
        from: u64,
        /// Position of the first that is not.
        to: u64,
    },
    /// The program asked for something that cannot be.
    Mistake,
    /// This machine or its network refuses, or the other side did something wrong.
    Failed,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What a program can do about it.
    pub kind: Kind,
    /// What a person should read.
    pub text: String,
}

impl Error {
    pub(crate) fn mistake(text: impl Into<String>) -> Self {
        Self { kind: Kind::Mistake, text: text.into() }
    }

    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, text: text.into() }
    }

    pub(crate) fn timeout() -> Self {
        Self { kind: Kind::Timeout, text: "nothing came in time".into() }
    }

    pub(crate) fn ended(what: &str) -> Self {
        Self { kind: Kind::Ended, text: format!("{what}: has ended") }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::mistake(failure.text)
    }
}

impl From<TopicError> for Error {
    fn from(error: TopicError) -> Self {
        Self::mistake(error.to_string())
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        Self::mistake(error.to_string())
    }
}

impl From<JoinError> for Error {
    fn from(error: JoinError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<TransferError> for Error {
    fn from(error: TransferError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<GroupError> for Error {
    fn from(error: GroupError) -> Self {
        let kind = match &error {
            GroupError::Ended => Kind::Ended,
            GroupError::Publish(_) | GroupError::TooLarge { .. } => Kind::Mistake,
            GroupError::NotDurable(_) | GroupError::Cache(..) => Kind::Failed,
        };
        Self { kind, text: error.to_string() }
    }
}

impl From<io::Error> for Error {
    /// Of a stream.
    fn from(error: io::Error) -> Self {
        let gap = error.get_ref().and_then(|why| why.downcast_ref::<StreamGap>());
        let kind = match (gap, error.kind()) {
            (Some(gap), _) => Kind::Gap { from: gap.from, to: gap.to },
            (None, io::ErrorKind::TimedOut) => Kind::Timeout,
            (None, io::ErrorKind::BrokenPipe) => Kind::Ended,
            (None, io::ErrorKind::InvalidInput) => Kind::Mistake,
            (None, _) => Kind::Failed,
        };
        Self { kind, text: error.to_string() }
    }
}
