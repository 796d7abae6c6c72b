//! The configuration of a flow.

use fanfare_proto::Duration;

/// What makes the window grow, and by how much it shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681: one segment per round trip, half on loss.
    Reno,
    /// RFC 9438: a cubic in time, 0.7 on loss. Linux's default since 2.6.19.
    Cubic,
}

/// How a sender decides that a segment is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossDetection {
    /// RFC 6675: three segments above it have arrived. A retransmission that is lost, or the loss
    /// of the last segments, costs a timeout.
    DuplicateAcks,
    /// RFC 8985: something sent later has arrived, and enough time has passed; a probe finds lost
    /// tails. Linux's default since 4.18.
    RackTlp,
}

/// A flow's settings; both ends are given the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Payload bytes of a full segment. Default 1440: with the default header 1492 bytes of IP, as
    /// in the NORM testbed (Adamson et al., MILCOM 2013).
    pub segment_size: u32,
    /// Bytes of IP and TCP headers and of the timestamp option. Default 20 + 20 + 12. SACK ranges
    /// come on top where they are sent.
    pub header_bytes: u32,
    /// Default CUBIC.
    pub algorithm: Algorithm,
    /// Default RACK-TLP.
    pub loss_detection: LossDetection,
    /// Whether CUBIC may leave slow start before a loss, as Linux's does. Default true.
    pub hystart: bool,
    /// Whether CUBIC on a short path grows as fast as Reno once it is beyond the window of the last
    /// loss (RFC 9438 4.3). Linux (6.18) does not, and is up to a fifth slower there. Default false.
    pub reno_beyond_last_loss: bool,
    /// Whether congestion marks take the place of drops (RFC 3168). Default false.
    pub ecn: bool,
    /// Segments in flight at first. Default 10 (RFC 6928).
    pub initial_window: u32,
    /// Bytes the receiver is ready to hold. Default 6 MiB, Linux's largest (`tcp_rmem`).
    pub receive_window: u64,
    /// Floor of what the retransmission timeout adds to the round trip. Default 200 ms, as Linux
    /// (`TCP_RTO_MIN`); RFC 6298 would have a second under the sum.
    pub min_rto: Duration,
    /// How long a receiver may keep an ACK back. Default 40 ms, as Linux (`TCP_DELACK_MIN`).
    pub delayed_ack: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            segment_size: 1440,
            header_bytes: 52,
            algorithm: Algorithm::Cubic,
            loss_detection: LossDetection::RackTlp,
            hystart: true,
            reno_beyond_last_loss: false,
            ecn: false,
            initial_window: 10,
            receive_window: 6 << 20,
            min_rto: Duration::from_millis(200),
            delayed_ack: Duration::from_millis(40),
        }
    }
}
