//! Any message, for dispatch.

use crate::{Ack, Cmd, Data, Info, Nack, Report, WireError};

/// One datagram's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// NORM_INFO.
    Info(Info<'a>),
    /// NORM_DATA.
    Data(Data<'a>),
    /// NORM_CMD.
    Cmd(Cmd<'a>),
    /// NORM_NACK.
    Nack(Nack<'a>),
    /// NORM_ACK.
    Ack(Ack<'a>),
    /// NORM_REPORT.
    Report(Report<'a>),
}

impl<'a> Message<'a> {
    /// Parses a whole datagram; every length in it is checked here.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, WireError> {
        let _ = datagram;
        todo!()
    }
}

impl Message<'_> {
    /// Who sent it, by its own word.
    #[must_use]
    pub fn source_id(&self) -> crate::NodeId {
        match self {
            Self::Info(m) => m.sender.source_id,
            Self::Data(m) => m.sender.source_id,
            Self::Cmd(m) => m.sender().source_id,
            Self::Nack(m) => m.feedback.source_id,
            Self::Ack(m) => m.feedback.source_id,
            Self::Report(m) => m.source_id,
        }
    }
}
