//! The receivers of a stream that count: who is waited for, and what became of each.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_proto::NodeId;

use super::{receipt::Receipt, report::Outcome};

/// Who is waited for before a stream begins, and until its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expect {
    /// Nobody: it is sent to whoever listens.
    #[default]
    Nobody,
    /// At least one, and everybody who answers the roll call.
    Anyone,
    /// So many receivers.
    Count(usize),
    /// Receivers of these names.
    Names(BTreeSet<String>),
}

/// One of them.
#[derive(Debug, Default)]
struct Member {
    name: String,
    acknowledged: bool,
    /// It is asked no more: it has left, or fallen silent.
    gone: Option<Outcome>,
    receipt: Option<Receipt>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Audience {
    expect: Expect,
    members: BTreeMap<NodeId, Member>,
    /// Receivers that would count, and read the stream of another sender.
    taken: BTreeMap<NodeId, String>,
}

/// Receivers that are taken, and of which that is remembered.
const TAKEN_MAX: usize = 4096;

impl Audience {
    pub(super) fn new(expect: Expect) -> Self {
        Self { expect, members: BTreeMap::new(), taken: BTreeMap::new() }
    }

    /// Whether anybody is waited for.
    pub(super) fn is_wanted(&self) -> bool {
        self.expect != Expect::Nobody
    }

    /// How many are, where that is known.
    pub(super) fn awaited(&self) -> Option<u32> {
        match &self.expect {
            Expect::Nobody | Expect::Anyone => None,
            Expect::Count(count) => u32::try_from(*count).ok(),
            Expect::Names(names) => u32::try_from(names.len()).ok(),
        }
    }

    /// A receiver says its name; true when it is a new one that counts.
    pub(super) fn on_name(&mut self, node: NodeId, name: &str) -> bool {
        let counts = match &self.expect {
            Expect::Nobody => false,
            Expect::Anyone => true,
            Expect::Count(count) => self.members.len() < *count,
            Expect::Names(names) => names.contains(name),
        };
        if !counts || self.members.contains_key(&node) {
            return false;
        }
        self.members.insert(node, Member { name: name.to_owned(), ..Member::default() });
        true
    }

    /// A receiver says that it reads the stream of another sender; true when that is news.
    pub(super) fn on_taken(&mut self, node: NodeId, name: &str) -> bool {
        if self.members.contains_key(&node) {
            return self.on_gone(node, Outcome::Taken);
        }
        let counts = match &self.expect {
            Expect::Nobody => false,
            Expect::Anyone | Expect::Count(_) => true,
            Expect::Names(names) => names.contains(name),
        };
        let counts = counts && self.taken.len() < TAKEN_MAX;
        counts && self.taken.insert(node, name.to_owned()).is_none()
    }

    /// Whether all are there.
    pub(super) fn is_complete(&self) -> bool {
        match &self.expect {
            Expect::Nobody => true,
            Expect::Anyone => false,
            Expect::Count(count) => self.members.len() >= *count,
            Expect::Names(names) => names.iter().all(|name| self.has(name)),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.members.values().any(|member| member.name == name)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Those who are still asked.
    pub(super) fn open(&self) -> Vec<NodeId> {
        let open = self.members.iter().filter(|(_, member)| member.gone.is_none());
        open.map(|(node, _)| *node).collect()
    }

    pub(super) fn name(&self, node: NodeId) -> String {
        let name = self.members.get(&node).map(|member| member.name.clone());
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| node.to_string())
    }

    /// It has acknowledged the end, with this.
    pub(super) fn on_end(&mut self, node: NodeId, receipt: Option<Receipt>) {
        if let Some(member) = self.members.get_mut(&node) {
            (member.acknowledged, member.receipt) = (true, receipt);
        }
    }

    /// It does not count any more, for this reason; true when that is new.
    pub(super) fn on_gone(&mut self, node: NodeId, outcome: Outcome) -> bool {
        let member = self.members.get_mut(&node);
        let member = member.filter(|member| member.gone.is_none() && !member.acknowledged);
        member.map(|member| member.gone = Some(outcome)).is_some()
    }

    /// Those in whose place nobody else came.
    fn lacking(&self) -> impl Iterator<Item = (NodeId, &String)> {
        let room = match &self.expect {
            Expect::Nobody => 0,
            Expect::Anyone if self.members.is_empty() => usize::MAX,
            Expect::Anyone => 0,
            Expect::Count(count) => count.saturating_sub(self.members.len()),
            Expect::Names(_) => usize::MAX,
        };
        let lacking = self.taken.iter().filter(|(_, name)| !self.has(name));
        lacking.take(room).map(|(node, name)| (*node, name))
    }

    /// Who did not come.
    pub(super) fn missing(&self) -> Vec<String> {
        let taken = self.lacking().count();
        match &self.expect {
            Expect::Nobody => Vec::new(),
            Expect::Anyone if self.members.is_empty() && taken == 0 => vec!["anyone".to_owned()],
            Expect::Anyone => Vec::new(),
            Expect::Count(count) => {
                let there = self.members.len() + taken;
                (there..*count).map(|n| format!("receiver {}", n + 1)).collect()
            }
            Expect::Names(names) => {
                let is_taken = |name: &String| self.lacking().any(|(_, taken)| taken == name);
                let missing = names.iter().filter(|name| !self.has(name) && !is_taken(name));
                missing.cloned().collect()
            }
        }
    }

    /// What became of each, of `length` bytes.
    pub(super) fn outcomes(&self, length: u64) -> Vec<(NodeId, String, Outcome)> {
        let outcome = |member: &Member| match member.receipt {
            _ if !member.acknowledged => member.gone.clone().unwrap_or(Outcome::Silent),
            Some(receipt) if !receipt.is_whole() => Outcome::Gaps(receipt),
            Some(receipt) if receipt.length != length => Outcome::Differs(receipt),
            receipt => Outcome::Whole(receipt),
        };
        let one = |(node, member): (&NodeId, &Member)| (*node, self.name(*node), outcome(member));
        let taken = self.lacking().map(|(node, name)| (node, name.clone(), Outcome::Taken));
        self.members.iter().map(one).chain(taken).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::report::SendReport;

    #[test]
    fn names_that_are_expected_count_and_others_do_not() {
        let names = ["a", "b"].map(str::to_owned).into();
        let mut audience = Audience::new(Expect::Names(names));
        assert!(audience.on_name(NodeId(1), "a") && !audience.on_name(NodeId(2), "c"));
        assert!(!audience.is_complete());
        assert_eq!(audience.missing(), ["b"]);
        assert!(audience.on_name(NodeId(3), "b") && audience.is_complete());
    }

    #[test]
    fn who_reads_another_stream_is_named_unless_somebody_else_of_that_name_comes() {
        let names = ["a", "b"].map(str::to_owned).into();
        let mut audience = Audience::new(Expect::Names(names));
        assert!(audience.on_taken(NodeId(1), "a") && !audience.on_taken(NodeId(1), "a"));
        assert!(!audience.on_taken(NodeId(2), "c") && !audience.is_complete());
        assert_eq!(audience.missing(), ["b"]);
        let outcomes = audience.outcomes(9);
        assert_eq!(outcomes, [(NodeId(1), "a".to_owned(), Outcome::Taken)]);
        assert!(audience.on_name(NodeId(3), "a") && audience.on_name(NodeId(4), "b"));
        assert!(audience.is_complete() && audience.missing().is_empty());
        assert_eq!(audience.outcomes(9).len(), 2);
        assert!(audience.on_taken(NodeId(4), "b"));
        assert_eq!(audience.outcomes(9)[1].2, Outcome::Taken);
        let mut audience = Audience::new(Expect::Count(2));
        assert!(audience.on_taken(NodeId(1), "a"));
        assert_eq!(
            (audience.missing(), audience.outcomes(9).len()),
            (vec!["receiver 2".into()], 1)
        );
    }

    #[test]
    fn a_receipt_of_other_bytes_is_no_receipt() {
        let mut audience = Audience::new(Expect::Count(4));
        let receipt = Receipt { first: 0, length: 9, lost: 0, hash: [1; 32] };
        for node in 1..=4 {
            audience.on_name(NodeId(node), "");
        }
        audience.on_end(NodeId(1), Some(receipt));
        audience.on_end(NodeId(2), Some(Receipt { hash: [2; 32], ..receipt }));
        audience.on_end(NodeId(3), Some(Receipt { lost: 1, ..receipt }));
        let receivers = audience.outcomes(9);
        let report = SendReport { receivers, ..SendReport::default() }.compared(Some([1; 32]));
        let outcomes = report.receivers.into_iter().map(|(_, _, outcome)| outcome);
        let outcomes: Vec<Outcome> = outcomes.collect();
        assert!(matches!(
            outcomes[..],
            [Outcome::Whole(Some(_)), Outcome::Differs(_), Outcome::Gaps(_), Outcome::Silent]
        ));
    }
}
