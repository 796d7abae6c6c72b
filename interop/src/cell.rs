//! One experiment as data: who sends to whom, over which network, and what.

use std::fmt;

use crate::impair::Loss;

/// Whose program an endpoint runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// Our `fanfare`.
    Ours,
    /// NRL's libnorm.
    Nrl,
}

/// Who sends and who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The sender's program.
    pub sender: Party,
    /// Every receiver's program.
    pub receiver: Party,
}

/// Our sender, NRL's receivers.
pub const OURS_TO_NRL: Direction = Direction { sender: Party::Ours, receiver: Party::Nrl };
/// NRL's sender, our receivers.
pub const NRL_TO_OURS: Direction = Direction { sender: Party::Nrl, receiver: Party::Ours };
/// Ours on both ends.
pub const OURS_TO_OURS: Direction = Direction { sender: Party::Ours, receiver: Party::Ours };
/// The control: NRL's on both ends.
pub const NRL_TO_NRL: Direction = Direction { sender: Party::Nrl, receiver: Party::Nrl };

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.sender, self.receiver)
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Nrl => "NRL",
        })
    }
}

/// The erasure code of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fec {
    /// FEC encoding id: 5 or 129.
    pub id: u8,
    /// Source symbols of a full block.
    pub data: u16,
    /// Parity symbols that can be computed for a block.
    pub parity: u16,
    /// Parity symbols sent with each block before anyone asks.
    pub proactive: u16,
}

/// Where receivers send their feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// To the group.
    Multicast,
    /// To the sender's address.
    Unicast,
}

/// When the last receiver starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Before the sender, like all others.
    Early,
    /// When about a third of the data has gone by.
    Late,
}

/// Conditions of an experiment; a [`Cell`] adds the direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Unique name, used by `--filter`.
    pub name: &'static str,
    /// Name and bytes of each file.
    pub files: Vec<(&'static str, u64)>,
    /// How many receivers.
    pub receivers: usize,
    /// Loss at each receiver, both directions.
    pub loss: Loss,
    /// Erasure code.
    pub fec: Fec,
    /// Feedback path.
    pub feedback: Feedback,
    /// Whether the sender asks named receivers for positive acknowledgment.
    pub acks: bool,
    /// Late join or not.
    pub arrival: Arrival,
    /// Sending rate in bit/s.
    pub rate_bps: u64,
    /// What decides the rate, `rate_bps` being the most, as our `--cc` names it; NRL's has NORM-CC
    /// or nothing.
    pub congestion_control: &'static str,
    /// Rate of the line to each receiver in bit/s, with a queue of [`LINE_QUEUE_MS`].
    pub line_bps: Option<u64>,
    /// Fanfare group nodes in the same group, with traffic of their own.
    pub company: usize,
    /// Segment size in bytes.
    pub segment: u16,
    /// Most seconds from the sender's start to the last receiver's last byte.
    pub limit_seconds: u64,
}

/// How long a packet waits at most in the queue before a line.
pub const LINE_QUEUE_MS: u64 = 200;

/// One experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Everything but the direction.
    pub conditions: Conditions,
    /// Who sends to whom.
    pub direction: Direction,
    /// Part of the short list for every change.
    pub quick: bool,
}

impl Cell {
    /// `name direction`, unique in the list.
    pub fn name(&self) -> String {
        format!("{} {}", self.conditions.name, self.direction)
    }

    /// Whether any endpoint is ours.
    pub fn needs_fanfare(&self) -> bool {
        self.direction != NRL_TO_NRL || self.conditions.company > 0
    }
}

impl Conditions {
    /// One 800,000-byte file to one receiver, no loss, 64+8 reactive, multicast NACK, acks.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            files: vec![("report.bin", 800_000)],
            receivers: 1,
            loss: Loss::default(),
            fec: Fec { id: 5, data: 64, parity: 8, proactive: 0 },
            feedback: Feedback::Multicast,
            acks: true,
            arrival: Arrival::Early,
            rate_bps: 20_000_000,
            congestion_control: "fixed",
            line_bps: None,
            company: 0,
            segment: 1400,
            limit_seconds: 120,
        }
    }

    /// One file of `size` bytes.
    #[must_use]
    pub fn size(self, size: u64) -> Self {
        self.files(&[("report.bin", size)])
    }

    /// These files.
    #[must_use]
    pub fn files(mut self, files: &[(&'static str, u64)]) -> Self {
        self.files = files.to_vec();
        self
    }

    /// This many receivers.
    #[must_use]
    pub fn receivers(mut self, receivers: usize) -> Self {
        self.receivers = receivers;
        self
    }

    /// Loss in whole percent: of what receivers get, and of what they answer.
    #[must_use]
    pub fn loss(mut self, inbound: u32, outbound: u32) -> Self {
        self.loss.inbound_permille = inbound * 10;
        self.loss.outbound_permille = outbound * 10;
        self
    }

    /// A share of what receivers get, in percent, is marked by a router; CCE decides the rate.
    #[must_use]
    pub fn marked(mut self, percent: u32) -> Self {
        (self.loss.marked_permille, self.congestion_control) = (percent * 10, "ecn");
        self
    }

    /// Erasure code: symbols of data, parity, and parity sent at once.
    #[must_use]
    pub fn fec(mut self, data: u16, parity: u16, proactive: u16) -> Self {
        self.fec = Fec { id: self.fec.id, data, parity, proactive };
        self
    }

    /// FEC encoding id 129 in place of 5.
    #[must_use]
    pub fn small_block_systematic(mut self) -> Self {
        self.fec.id = 129;
        self
    }

    /// Feedback to the sender's address.
    #[must_use]
    pub fn unicast(mut self) -> Self {
        self.feedback = Feedback::Unicast;
        self
    }

    /// No positive acknowledgment: the sender only flushes.
    #[must_use]
    pub fn no_acks(mut self) -> Self {
        self.acks = false;
        self
    }

    /// The last receiver comes late.
    #[must_use]
    pub fn late(mut self) -> Self {
        self.arrival = Arrival::Late;
        self
    }

    /// Sending rate in Mbit/s.
    #[must_use]
    pub fn mbps(mut self, rate: u64) -> Self {
        self.rate_bps = rate * 1_000_000;
        self
    }

    /// So many Fanfare group nodes beside it, three at least.
    #[must_use]
    pub fn company(mut self, nodes: usize) -> Self {
        self.company = nodes;
        self
    }

    /// Sending rate in kbit/s.
    #[must_use]
    pub fn kbps(mut self, rate: u64) -> Self {
        self.rate_bps = rate * 1_000;
        self
    }

    /// Segment size in bytes.
    #[must_use]
    pub fn segment(mut self, segment: u16) -> Self {
        self.segment = segment;
        self
    }

    /// A line of this rate to each receiver, and NORM-CC to find it.
    #[must_use]
    pub fn line_kbps(mut self, rate: u64) -> Self {
        (self.line_bps, self.congestion_control) = (Some(rate * 1_000), "norm");
        self
    }

    /// Time limit in seconds.
    #[must_use]
    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit_seconds = seconds;
        self
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, size)| size).sum()
    }
}
