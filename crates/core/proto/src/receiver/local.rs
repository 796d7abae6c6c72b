//! What holds for all remote senders alike.

use fanfare_wire::NodeId;

use super::admission::Admission;
use crate::config::{FeedbackPath, ReceiverConfig};

/// What holds for all remote senders alike.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) node_id: NodeId,
    pub(super) feedback: FeedbackPath,
    pub(super) unicast: bool,
    pub(super) config: ReceiverConfig,
    /// The driver has a status to answer roll calls with.
    pub(super) has_status: bool,
    /// It may have objects from before, which it knows by their INFO.
    pub(super) info_first: bool,
    /// Runs of datagrams that the system has dropped so far.
    pub(super) overruns: u32,
    pub(super) admission: Admission,
}
