//! What is compared between two hosts.

use std::{fmt, str::FromStr};

use crate::{name, peer::Library};

/// How bytes get from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// The kernel's TCP with CUBIC.
    Cubic,
    /// The kernel's TCP with BBR.
    Bbr,
    /// The kernel's TCP with Reno.
    Reno,
    /// SCTP in user space, over UDP.
    Sctp,
    /// UDT.
    Udt,
    /// SRT, UDT's heir, in its mode for files.
    Srt,
    /// QUIC by quinn: our proxy with a QUIC stream for each connection.
    Quinn,
    /// QUIC by ngtcp2: HTTP/3 by its own programs, with CUBIC.
    Ngtcp2,
    /// The same with BBR.
    Ngtcp2Bbr,
    /// Our proxy with NORM.
    Fanfare,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Cubic,
        Self::Bbr,
        Self::Reno,
        Self::Sctp,
        Self::Udt,
        Self::Srt,
        Self::Quinn,
        Self::Ngtcp2,
        Self::Ngtcp2Bbr,
        Self::Fanfare,
    ];

    /// Its name in options and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Reno => "reno",
            Self::Sctp => "sctp",
            Self::Udt => "udt",
            Self::Srt => "srt",
            Self::Quinn => "quinn",
            Self::Ngtcp2 => "ngtcp2",
            Self::Ngtcp2Bbr => "ngtcp2-bbr",
            Self::Fanfare => "fanfare",
        }
    }

    pub(super) const fn library(self) -> Library {
        match self {
            Self::Sctp => Library::UsrSctp,
            Self::Udt => Library::Udt,
            Self::Srt => Library::Srt,
            Self::Ngtcp2 | Self::Ngtcp2Bbr => Library::Ngtcp2,
            _ => Library::Kernel,
        }
    }

    /// What carries connections of the proxy, where that is measured.
    pub(super) const fn carrier(self) -> Option<&'static str> {
        match self {
            Self::Quinn => Some("quic"),
            Self::Fanfare => Some("norm"),
            _ => None,
        }
    }

    /// QUIC's congestion control, where ngtcp2's own programs are measured.
    pub(super) const fn ngtcp2(self) -> Option<&'static str> {
        match self {
            Self::Ngtcp2 => Some("cubic"),
            Self::Ngtcp2Bbr => Some("bbr"),
            _ => None,
        }
    }

    /// What the paper says of it (4.5.2): it has pictures, and only words for most.
    pub(super) const fn published(self) -> &'static str {
        match self {
            Self::Cubic => "one way very low at all losses",
            Self::Bbr => {
                "RPC slowest at 15 %, most varied at 10 %; one way excellent with loss; two way good"
            }
            Self::Sctp => "two way good",
            Self::Quinn | Self::Ngtcp2 | Self::Ngtcp2Bbr => {
                "RPC worse than the handshake; one way excellent with loss; two way best (its QUIC)"
            }
            Self::Reno | Self::Udt | Self::Srt | Self::Fanfare => "",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "is not a protocol of this matrix")
    }
}

/// What is done over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Until it is connected.
    Handshake,
    /// 256 bytes there, 2,048 back, over a connection that is there.
    Rpc,
    /// 1 MB there, from its first to its last byte.
    OneWay,
    /// 1 MB both ways at once, the slower of both.
    TwoWay,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Handshake, Self::Rpc, Self::OneWay, Self::TwoWay];

    /// Those that take long enough to see a road change.
    pub(super) const TRANSFERS: [Self; 2] = [Self::OneWay, Self::TwoWay];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Rpc => "rpc",
            Self::OneWay => "one-way",
            Self::TwoWay => "two-way",
        }
    }

    /// Whether its figure is a rate.
    pub(super) const fn is_transfer(self) -> bool {
        matches!(self, Self::OneWay | Self::TwoWay)
    }
}
