//! NORM_CMD: the sender's commands, one file per flavor (RFC 5740 4.2.3). `opening`: how each begins;
//! `items`: the lists in some of them.

pub mod ack_req;
pub mod application;
pub mod cc;
pub mod eot;
pub mod flush;
mod items;
mod opening;
pub mod repair_adv;
pub mod squelch;

pub use ack_req::AckReq;
pub use application::Application;
pub use cc::{Cc, CcNode, CcNodes};
pub use eot::Eot;
pub use flush::{Flush, NodeIds};
use items::whole_items;
use opening::open;
pub use repair_adv::RepairAdv;
pub use squelch::{ObjectIds, Squelch};

use crate::{WireError, frame::FrameReader, header::SenderFields};
use alloc::vec::Vec;
use core::fmt;

/// A parsed command of any flavor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cmd<'a> {
    /// FLUSH: the sender has reached this point; repair or acknowledge now.
    Flush(Flush<'a>),
    /// EOT: the sender leaves for good.
    Eot(Eot<'a>),
    /// SQUELCH: what the sender can no longer repair.
    Squelch(Squelch<'a>),
    /// CC: RTT probe and congestion control.
    Cc(Cc<'a>),
    /// REPAIR_ADV: repair requests the sender has already heard.
    RepairAdv(RepairAdv<'a>),
    /// ACK_REQ: positive acknowledgement wanted.
    AckReq(AckReq<'a>),
    /// APPLICATION: bytes of the application's own.
    Application(Application<'a>),
}

impl<'a> Cmd<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = opening::TYPE;

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let sender = SenderFields::read(&mut reader)?;
        match reader.u8()? {
            Flush::FLAVOR => Flush::parse(sender, reader).map(Self::Flush),
            Eot::FLAVOR => Eot::parse(sender, reader).map(Self::Eot),
            Squelch::FLAVOR => Squelch::parse(sender, reader).map(Self::Squelch),
            Cc::FLAVOR => Cc::parse(sender, reader).map(Self::Cc),
            RepairAdv::FLAVOR => RepairAdv::parse(sender, reader).map(Self::RepairAdv),
            AckReq::FLAVOR => AckReq::parse(sender, reader).map(Self::AckReq),
            Application::FLAVOR => Application::parse(sender, reader).map(Self::Application),
            unknown => Err(WireError::UnknownFlavor(unknown)),
        }
    }

    /// Appends the message as it was parsed.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Flush(m) => {
                let nodes: Vec<_> = m.acking_nodes.iter().collect();
                m.encode(m.extensions.app_ack().map(|app| app.content), &nodes, out);
            }
            Self::Eot(m) => m.encode(out),
            Self::Squelch(m) => m.encode(&m.invalid_objects.iter().collect::<Vec<_>>(), out),
            Self::Cc(m) => {
                let nodes: Vec<_> = m.nodes.iter().collect();
                m.encode(m.extensions.rate().map(|ext| ext.rate), &nodes, out);
            }
            Self::RepairAdv(m) => {
                m.encode(m.extensions.cc().as_ref(), m.requests.as_bytes(), out);
            }
            Self::AckReq(m) => m.encode(&m.acking_nodes.iter().collect::<Vec<_>>(), out),
            Self::Application(m) => m.encode(out),
        }
    }
}

impl Cmd<'_> {
    /// What every command repeats about its sender.
    #[must_use]
    pub fn sender(&self) -> &SenderFields {
        match self {
            Self::Flush(m) => &m.sender,
            Self::Eot(m) => &m.sender,
            Self::Squelch(m) => &m.sender,
            Self::Cc(m) => &m.sender,
            Self::RepairAdv(m) => &m.sender,
            Self::AckReq(m) => &m.sender,
            Self::Application(m) => &m.sender,
        }
    }
}

impl fmt::Display for Cmd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flush(m) => m.fmt(f),
            Self::Eot(m) => m.fmt(f),
            Self::Squelch(m) => m.fmt(f),
            Self::Cc(m) => m.fmt(f),
            Self::RepairAdv(m) => m.fmt(f),
            Self::AckReq(m) => m.fmt(f),
            Self::Application(m) => m.fmt(f),
        }
    }
}
