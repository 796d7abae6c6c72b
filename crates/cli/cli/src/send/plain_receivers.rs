//! Plain NORM receivers, which cannot unpack packs: the user is told once.

use std::collections::BTreeMap;

use fanfare_files::SendEvent;
use fanfare_node::proto::NodeId;

/// Reports of progress, five a second, until a receiver that has not called itself ours is taken
/// for plain: our receivers answer the roll every two seconds while data flows.
const PATIENCE: u32 = 25;

/// Receivers that may be plain.
#[derive(Debug)]
pub(crate) struct PlainReceivers {
    /// Reports of progress since each was heard; none is kept when there are no packs.
    suspected: BTreeMap<NodeId, u32>,
    matters: bool,
}

impl PlainReceivers {
    /// `has_packs`: whether there is anything that they cannot read.
    pub(crate) fn new(has_packs: bool) -> Self {
        Self { suspected: BTreeMap::new(), matters: has_packs }
    }

    /// What to tell the user, at most once.
    pub(crate) fn on_event(&mut self, event: &SendEvent) -> Option<String> {
        let found = match event {
            SendEvent::Receiver(view) if self.matters && view.state.is_none() => {
                self.suspected.entry(view.id).or_default();
                None
            }
            SendEvent::Receiver(view) => {
                self.suspected.remove(&view.id);
                None
            }
            SendEvent::Started { .. } => self.suspected.keys().next().copied(),
            SendEvent::Progress(_) => self.on_progress(),
            _ => None,
        };
        let node = found.filter(|_| std::mem::take(&mut self.matters))?;
        self.suspected.clear();
        Some(format!(
            "receiver {node} is a plain NORM receiver and cannot read a stream, or small files \
             that are sent together. Send with --no-pack"
        ))
    }

    fn on_progress(&mut self) -> Option<NodeId> {
        self.suspected.values_mut().for_each(|reports| *reports += 1);
        let (node, _) = self.suspected.iter().find(|(_, reports)| **reports >= PATIENCE)?;
        Some(*node)
    }
}

#[cfg(test)]
mod tests {
    use fanfare_files::{
        event::{ReceiverView, ToldBy},
        receipt::State,
    };

    use super::*;

    fn heard(state: Option<State>) -> SendEvent {
        SendEvent::Receiver(ReceiverView {
            id: NodeId(7),
            name: None,
            told_by: ToldBy::Name,
            state,
            source: None,
            free: None,
        })
    }

    const STARTED: SendEvent = SendEvent::Started { receivers: 1 };

    #[test]
    fn a_plain_receiver_that_was_gathered_is_warned_of_once() {
        let mut plain = PlainReceivers::new(true);
        assert_eq!(plain.on_event(&heard(None)), None);
        assert!(plain.on_event(&STARTED).unwrap().contains("--no-pack"));
        assert_eq!(plain.on_event(&heard(None)), None);
        assert_eq!(plain.on_event(&STARTED), None);
    }

    #[test]
    fn a_receiver_that_says_that_it_is_ours_is_not() {
        let mut plain = PlainReceivers::new(true);
        plain.on_event(&heard(None));
        plain.on_event(&heard(Some(State::Ready)));
        assert_eq!(plain.on_event(&STARTED), None);
    }

    #[test]
    fn without_packs_nothing_is_said() {
        let mut plain = PlainReceivers::new(false);
        plain.on_event(&heard(None));
        assert_eq!(plain.on_event(&STARTED), None);
    }
}
