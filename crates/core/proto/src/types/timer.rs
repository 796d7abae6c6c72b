//! The reasons why a session asks to be woken. A driver that wakes too often can name the cause.

/// Why a session wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next message may go.
    Pace,
    /// A rate controller's own time has come.
    Rate,
    /// Repair requests have been collected long enough.
    RepairAggregate,
    /// Repair requests count again.
    RepairHoldoff,
    /// The next CMD(FLUSH), or the next request for acknowledgement.
    Flush,
    /// The next CMD(CC).
    Probe,
    /// The next roll call.
    RollCall,
    /// An object leaves the cache.
    Cache,
    /// A NACK may be due.
    NackBackoff,
    /// NACKing may begin again.
    NackHoldoff,
    /// A sender has been silent.
    Inactivity,
    /// An acknowledgement or status is due.
    AckBackoff,
    /// Congestion control feedback is due.
    CcFeedback,
}
