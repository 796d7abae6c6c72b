//! What sending and receiving came to, in plain values.

use fanfare::{
    files::{
        Finished,
        event::{Outcome as FileOutcome, ReceiveEnd},
    },
    stream::{Outcome as StreamOutcome, ReceiveReport, SendReport},
};

/// What a receiver came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has everything, and says so.
    Complete,
    /// It has acknowledged everything, but is none of ours and cannot say what it has.
    Unverified,
    /// It lacks something.
    Partial,
    /// It has something else than was sent.
    Differs,
    /// It was silent.
    Silent,
    /// It has left before the end.
    Left,
    /// The sender was stopped, or gave it up.
    GivenUp,
}

impl Outcome {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unverified => "unverified",
            Self::Partial => "partial",
            Self::Differs => "differs",
            Self::Silent => "silent",
            Self::Left => "left",
            Self::GivenUp => "given-up",
        }
    }
}

/// A receiver, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// What it is called.
    pub name: String,
    /// Its id.
    pub node: u32,
    /// What it came to.
    pub outcome: Outcome,
}

/// What it came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Everything is where it was to be: at each expected receiver, or here.
    pub complete: bool,
    /// Bytes of files, or of the stream.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Bytes of the stream that this receiver lacks.
    pub lost: u64,
    /// Receivers, at a sender.
    pub receivers: Vec<Received>,
    /// Who was expected and did not come.
    pub missing: Vec<String>,
}

impl Report {
    pub(crate) fn of_files(finished: Finished) -> Self {
        if let Some(sent) = finished.sent {
            let outcome = |outcome: &FileOutcome| match outcome {
                FileOutcome::Complete => Outcome::Complete,
                FileOutcome::Unverified | FileOutcome::Unproved => Outcome::Unverified,
                FileOutcome::Partial { .. } => Outcome::Partial,
                FileOutcome::Unanswered => Outcome::Silent,
                FileOutcome::Left => Outcome::Left,
                FileOutcome::Evicted | FileOutcome::Interrupted => Outcome::GivenUp,
            };
            let one = |result: &fanfare::files::event::ReceiverResult| Received {
                name: result.view.label(),
                node: result.view.id.0,
                outcome: outcome(&result.outcome),
            };
            return Self {
                complete: sent.end == fanfare::files::event::SendEnd::Complete,
                bytes: sent.bytes,
                files: sent.objects,
                lost: 0,
                receivers: sent.receivers.iter().map(one).collect(),
                missing: sent.missing,
            };
        }
        let Some(received) = finished.received else { return Self::default() };
        let good = matches!(received.end, ReceiveEnd::Complete | ReceiveEnd::Interrupted);
        Self {
            complete: good && received.failures.is_empty(),
            bytes: received.bytes,
            files: received.files,
            ..Self::default()
        }
    }

    pub(crate) fn of_stream_out(report: SendReport) -> Self {
        let complete = report.is_complete();
        let one = |(node, name, outcome): (_, String, StreamOutcome)| {
            let node: fanfare::protocol::NodeId = node;
            let outcome = match outcome {
                StreamOutcome::Whole(Some(_)) => Outcome::Complete,
                StreamOutcome::Whole(None) => Outcome::Unverified,
                StreamOutcome::Gaps(_) => Outcome::Partial,
                StreamOutcome::Differs(_) => Outcome::Differs,
                StreamOutcome::Left | StreamOutcome::Taken => Outcome::Left,
                StreamOutcome::Silent => Outcome::Silent,
            };
            Received { name, node: node.0, outcome }
        };
        Self {
            complete,
            bytes: report.bytes,
            files: 0,
            lost: 0,
            receivers: report.receivers.into_iter().map(one).collect(),
            missing: report.missing,
        }
    }

    pub(crate) fn of_stream_in(report: &ReceiveReport) -> Self {
        let Some(receipt) = report.receipt else { return Self::default() };
        Self {
            complete: receipt.is_whole(),
            bytes: receipt.length,
            lost: receipt.lost,
            ..Self::default()
        }
    }

    /// How many receivers have everything.
    #[must_use]
    pub fn whole(&self) -> usize {
        let whole =
            |one: &&Received| matches!(one.outcome, Outcome::Complete | Outcome::Unverified);
        self.receivers.iter().filter(whole).count()
    }
}
