//! How a request ended, in the numbers of SOCKS5 (RFC 1928, 6).

use std::io::{self, ErrorKind};

/// A reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The far connection is there.
    Done = 0,
    /// The link is lost, a table is full, or something else is wrong.
    General = 1,
    /// The policy of either side refuses it.
    Refused = 2,
    /// There is no way to that network.
    NetworkUnreachable = 3,
    /// There is no way to that host, or its name is not known.
    HostUnreachable = 4,
    /// Nobody listens there.
    ConnectionRefused = 5,
    /// No answer in time, or too many proxies on the way. RFC 1928 has no other code for time.
    TimedOut = 6,
    /// A command that is not known, or not allowed.
    Command = 7,
    /// An address of a type that is not known.
    AddressType = 8,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::General,
        Self::Refused,
        Self::NetworkUnreachable,
        Self::HostUnreachable,
        Self::ConnectionRefused,
        Self::TimedOut,
        Self::Command,
        Self::AddressType,
    ];

    /// From its number; [`Self::General`] for one that is not known.
    #[must_use]
    pub fn of(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::General)
    }

    /// Why a connection could not be made.
    #[must_use]
    pub fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => Self::NetworkUnreachable,
            ErrorKind::HostUnreachable | ErrorKind::NetworkDown | ErrorKind::NotFound => {
                Self::HostUnreachable
            }
            ErrorKind::PermissionDenied => Self::Refused,
            ErrorKind::Unsupported => Self::NetworkUnreachable,
            _ => Self::General,
        }
    }

    /// The status line of HTTP that says the same.
    #[must_use]
    pub const fn http(self) -> &'static str {
        match self {
            Self::Done => "200 Connection established",
            Self::Refused => "403 Forbidden",
            Self::TimedOut => "504 Gateway Timeout",
            Self::Command | Self::AddressType => "501 Not Implemented",
            Self::General => "503 Service Unavailable",
            _ => "502 Bad Gateway",
        }
    }

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Done => "connected",
            Self::General => "general failure",
            Self::Refused => "refused by policy",
            Self::NetworkUnreachable => "network unreachable",
            Self::HostUnreachable => "host unreachable",
            Self::ConnectionRefused => "connection refused",
            Self::TimedOut => "timed out",
            Self::Command => "command not supported",
            Self::AddressType => "address type not supported",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_rfc_1928() {
        for (number, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!((code as usize, Code::of(number as u8)), (number, code));
        }
        assert_eq!(Code::of(9), Code::General);
        let of = |kind| Code::of_error(&io::Error::from(kind));
        assert_eq!(of(ErrorKind::ConnectionRefused), Code::ConnectionRefused);
        assert_eq!(of(ErrorKind::TimedOut), Code::TimedOut);
        assert_eq!(of(ErrorKind::OutOfMemory), Code::General);
    }
}
