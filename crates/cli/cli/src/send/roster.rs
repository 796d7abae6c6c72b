//! Receivers as they are first heard: who, where, with how much room, and under whose name.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_files::event::ReceiverView;
use fanfare_node::proto::NodeId;

use fanfare_command::{Output, units};

/// Receivers told to the user.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    told: BTreeSet<NodeId>,
    names: BTreeMap<String, NodeId>,
    shared: BTreeSet<String>,
    /// Bytes of a stream, where they are known.
    needed: Option<u64>,
}

impl Roster {
    /// Makes one for a stream of so many bytes, as far as that is known.
    pub(crate) fn of_stream(needed: Option<u64>) -> Self {
        Self { needed, ..Self::default() }
    }

    /// A receiver is new, or in another state.
    pub(crate) fn on_receiver(&mut self, view: &ReceiverView, output: &Output) {
        if let Some(line) = self.introduce(view) {
            output.text(&line);
            if let Some(message) = self.shortage(view) {
                output.warn("receiver.too_small", message);
            }
        }
        if let Some(message) = self.clash(view) {
            output.warn("name.shared", message);
        }
    }

    /// Once for each receiver that has told its name.
    fn introduce(&mut self, view: &ReceiverView) -> Option<String> {
        view.name.as_ref()?;
        if !self.told.insert(view.id) {
            return None;
        }
        let at = view.source.map_or_else(String::new, |source| format!(" at {}", source.ip()));
        let free =
            view.free.map_or_else(String::new, |free| format!(", {} free", units::size(free)));
        Some(format!("receiver {}{at}{free}", view.label()))
    }

    /// Bytes that are sent and bytes that fit there, if that is too little.
    fn shortage(&self, view: &ReceiverView) -> Option<String> {
        let (needed, room) = self.needed.zip(view.free).filter(|(needed, room)| needed > room)?;
        let (all, here) = (units::size(needed), units::size(room));
        Some(format!(
            "receiver {} has room for {here} ({room} bytes), and {all} ({needed} bytes) are sent: its target \
             is too small, and it will refuse",
            view.label()
        ))
    }

    /// Once for each name that several bear.
    fn clash(&mut self, view: &ReceiverView) -> Option<String> {
        let name = view.name.as_ref()?;
        let first = *self.names.entry(name.clone()).or_insert(view.id);
        if first == view.id || !self.shared.insert(name.clone()) {
            return None;
        }
        Some(format!(
            "receivers {first} and {} are both called '{name}': with --expect {name} both must have \
             everything, unless one has gone. Give them different names with 'fanfare recv --name'",
            view.id
        ))
    }
}

#[cfg(test)]
mod tests {
    use fanfare_files::event::ToldBy;

    use super::*;

    fn view(id: u32, name: Option<&str>) -> ReceiverView {
        ReceiverView {
            id: NodeId(id),
            name: name.map(str::to_owned),
            told_by: ToldBy::Name,
            state: None,
            source: Some(([10, 0, 0, 7], 4000).into()),
            free: Some(3 << 30),
        }
    }

    #[test]
    fn a_receiver_is_introduced_once_it_has_a_name_with_its_address_and_room() {
        let mut roster = Roster::default();
        assert_eq!(roster.introduce(&view(7, None)), None);
        let line = roster.introduce(&view(7, Some("lab-1"))).unwrap();
        assert_eq!(line, "receiver lab-1 at 10.0.0.7, 3.0 GiB free");
        assert_eq!(roster.introduce(&view(7, Some("lab-1"))), None);
    }

    #[test]
    fn a_receiver_whose_target_is_too_small_is_told_with_both_sizes() {
        let three = 3 << 30;
        assert_eq!(Roster::of_stream(Some(three)).shortage(&view(7, Some("a"))), None);
        assert_eq!(Roster::of_stream(None).shortage(&view(7, Some("a"))), None);
        let text = Roster::of_stream(Some(three + 1)).shortage(&view(7, Some("a"))).unwrap();
        assert!(text.contains("3221225472 bytes") && text.contains("3221225473 bytes"), "{text}");
    }

    #[test]
    fn two_receivers_of_one_name_are_told_once() {
        let mut roster = Roster::default();
        assert_eq!(roster.clash(&view(7, Some("a"))), None);
        assert_eq!(roster.clash(&view(7, Some("a"))), None);
        assert!(roster.clash(&view(8, Some("a"))).unwrap().contains("--name"));
        assert_eq!(roster.clash(&view(8, Some("a"))), None);
        assert_eq!(roster.clash(&view(9, Some("b"))), None);
    }
}
