//! What limits a sender's rate: a code for programs, a sentence for people.

use std::fmt;

use fanfare_proto::congestion::Reason;

use super::ReceiverView;

/// What limits the rate of a sender. `Display` is the sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// What the rate control says.
    pub reason: Reason,
    /// The receiver that it is about.
    pub receiver: Option<ReceiverView>,
    /// A receiver has answered before.
    pub answered: bool,
}

impl Limit {
    /// The rate that was set, and nothing else.
    #[must_use]
    pub const fn set() -> Self {
        Self { reason: Reason::Set, receiver: None, answered: false }
    }

    /// Stable name for JSON.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.reason {
            Reason::Set => "set",
            Reason::NoFeedback => "no-feedback",
            Reason::Start => "start",
            Reason::Loss(..) => "loss",
            Reason::Marks(..) => "marks",
            Reason::Queue(..) => "queue",
            Reason::Path(_) => "path",
            Reason::Overrun(_) => "overrun",
        }
    }

    /// The receiver, as people know it.
    #[must_use]
    pub fn receiver_label(&self) -> Option<String> {
        self.receiver.as_ref().map(ReceiverView::label)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.receiver_label().unwrap_or_else(|| "a receiver".to_owned());
        match self.reason {
            Reason::Set => write!(f, "the rate limit is reached"),
            Reason::NoFeedback if self.answered => write!(f, "nobody has answered lately"),
            Reason::NoFeedback => write!(f, "nobody has answered yet"),
            Reason::Start => write!(f, "the rate is still growing"),
            Reason::Loss(_, share) => {
                write!(f, "the path to {who} loses {:.1} %", share * 100.0)
            }
            Reason::Marks(_, share) => {
                write!(f, "routers on the path to {who} mark {:.1} %", share * 100.0)
            }
            Reason::Queue(_, delay) => {
                write!(f, "the path to {who} has a queue of {} ms", delay.as_millis())
            }
            Reason::Path(_) => write!(f, "the path to {who} carries no more"),
            Reason::Overrun(_) => {
                write!(f, "{who} is behind (processor or disk): its receive buffer ran over")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fanfare_proto::NodeId;

    use super::*;
    use crate::event::ToldBy;

    const NODE: NodeId = NodeId(0x0a0b_0c0d);

    fn limit(reason: Reason, name: Option<&str>, told_by: ToldBy) -> Limit {
        let (name, source) = (name.map(str::to_owned), Some(([10, 0, 0, 7], 4000).into()));
        let view = ReceiverView { id: NODE, name, told_by, state: None, source, free: None };
        Limit { reason, receiver: reason.node().map(|_| view), answered: false }
    }

    #[test]
    fn each_reason_has_a_code_and_a_sentence_that_names_the_receiver() {
        let told = |reason| {
            let limit = limit(reason, Some("lab-1"), ToldBy::Name);
            (limit.code(), limit.to_string())
        };
        let expected = [
            (Reason::Set, "set", "the rate limit is reached"),
            (Reason::NoFeedback, "no-feedback", "nobody has answered yet"),
            (Reason::Start, "start", "the rate is still growing"),
            (Reason::Loss(NODE, 0.02), "loss", "the path to lab-1 loses 2.0 %"),
            (Reason::Marks(NODE, 0.5), "marks", "routers on the path to lab-1 mark 50.0 %"),
            (
                Reason::Queue(NODE, Duration::from_millis(12)),
                "queue",
                "the path to lab-1 has a queue of 12 ms",
            ),
            (Reason::Path(NODE), "path", "the path to lab-1 carries no more"),
            (
                Reason::Overrun(NODE),
                "overrun",
                "lab-1 is behind (processor or disk): its receive buffer ran over",
            ),
        ];
        for (reason, code, sentence) in expected {
            assert_eq!(told(reason), (code, sentence.to_owned()));
        }
    }

    #[test]
    fn silence_after_an_answer_is_told_apart_from_no_answer_at_all() {
        let silent = Limit { answered: true, ..limit(Reason::NoFeedback, None, ToldBy::Name) };
        assert_eq!(silent.to_string(), "nobody has answered lately");
    }

    #[test]
    fn a_receiver_is_told_by_its_name_and_by_address_or_id_where_that_is_needed() {
        let label = |name, told_by| limit(Reason::Path(NODE), name, told_by).receiver_label();
        assert_eq!(label(Some("lab-1"), ToldBy::Name).as_deref(), Some("lab-1"));
        assert_eq!(label(Some("lab-1"), ToldBy::Address).as_deref(), Some("lab-1 (10.0.0.7)"));
        assert_eq!(label(Some("lab-1"), ToldBy::Id).as_deref(), Some("lab-1 (0a0b0c0d)"));
        assert_eq!(label(None, ToldBy::Name).as_deref(), Some("10.0.0.7"));
    }
}
