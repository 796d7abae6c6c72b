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
}

impl Audience {
    pub(super) fn new(expect: Expect) -> Self {
        Self { expect, members: BTreeMap::new() }
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

    /// Who did not come.
    pub(super) fn missing(&self) -> Vec<String> {
        match &self.expect {
            Expect::Nobody => Vec::new(),
            Expect::Anyone if self.members.is_empty() => vec!["anyone".to_owned()],
            Expect::Anyone => Vec::new(),
            Expect::Count(count) => {
                (self.members.len()..*count).map(|n| format!("receiver {}", n + 1)).collect()
            }
            Expect::Names(names) => names.iter().filter(|name| !self.has(name)).cloned().collect(),
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
        self.members.iter().map(one).collect()
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
