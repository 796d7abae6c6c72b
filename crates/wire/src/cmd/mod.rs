//! NORM_CMD: the sender's commands, one file per flavor (RFC 5740 4.2.3).

pub mod ack_req;
pub mod application;
pub mod cc;
pub mod eot;
pub mod flush;
pub mod repair_adv;
pub mod squelch;

pub use ack_req::AckReq;
pub use application::Application;
pub use cc::{Cc, CcNode, CcNodes};
pub use eot::Eot;
pub use flush::{Flush, NodeIds};
pub use repair_adv::RepairAdv;
pub use squelch::{ObjectIds, Squelch};

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

impl Cmd<'_> {
    /// What every command repeats about its sender.
    #[must_use]
    pub fn sender(&self) -> &crate::header::SenderFields {
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
