//! Rules of who must have what a sender sends, who must have nothing of it, and where both are right.

use super::draw::{FromChoice, JobKind, ReceiverPlan, SendWay, SenderPlan, SessionDraw, address};

/// Fate of a sender's bytes at a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShareRule {
    /// It did not join: not one byte, name or receipt, and nothing is deleted.
    Nothing,
    /// It joined, and is not promised that it is reached: nothing, or what is sent.
    Perhaps,
    /// It joined, and is reached: every byte.
    Everything,
}
use ShareRule::{Everything, Nothing, Perhaps};

impl SessionDraw {
    /// The rule for one receiver and one sender.
    pub(super) fn rule(&self, receiver: usize, sender: usize) -> ShareRule {
        let (to, by) = (&self.receivers[receiver], &self.senders[sender]);
        if let Some((of, mistyped)) = to.code {
            let rule = if of == sender && !mistyped { self.by_code(to, by) } else { Nothing };
            // The sender waits for as many as must come. Who may come, and does, takes the place of one of them.
            return if self.some_may_come(sender) { rule.min(Perhaps) } else { rule };
        }
        if by.way == SendWay::Code || to.group != by.group || to.key != by.key {
            return Nothing;
        }
        if to.kind != by.kind || !self.listens_to(to, sender) {
            return Nothing;
        }
        let rule = self.reach(to, by);
        // What takes one stream takes the first of several. A node of a group repairs what others have
        // published, so that it comes from where it may be taken.
        let one = matches!(to.kind, JobKind::Device | JobKind::Pipe);
        let rivals = (0..self.senders.len()).filter(|other| {
            let by_other = &self.senders[*other];
            *other != sender
                && to.group == by_other.group
                && to.key == by_other.key
                && self.listens_to(to, *other)
                && self.reach(to, by_other) > Nothing
        });
        if one && rivals.count() > 0 { rule.min(Perhaps) } else { rule }
    }

    /// True if this is a sender that the receiver was told to listen to.
    fn listens_to(&self, to: &ReceiverPlan, sender: usize) -> bool {
        let there = |number: usize| {
            let one = &self.senders[number];
            (one.host, one.link(&self.hosts))
        };
        let from = match to.from {
            None => true,
            Some(FromChoice::Name(one) | FromChoice::Node(one)) => one == sender,
            Some(FromChoice::Address(one)) => there(one) == there(sender),
        };
        from && to.source.is_none_or(|one| there(one) == there(sender))
    }

    /// Rule by the ways on which a sender of a joined session reaches a receiver.
    fn reach(&self, to: &ReceiverPlan, by: &SenderPlan) -> ShareRule {
        let link = by.link(&self.hosts);
        let host = &self.hosts[to.host];
        let near = match to.interface {
            Some(at) => host.links[at] == link,
            None => host.links[0] == link,
        };
        if !near {
            // What another interface brings is for who was told of none.
            if to.interface.is_none() && host.links.contains(&link) {
                return Perhaps;
            }
            return self.by_relay(to, by);
        }
        let by_group = |finds: bool| match (host.deaf && to.host != by.host, finds) {
            (false, _) => Everything,
            (true, false) => Nothing,
            (true, true) if to.group_alone => Nothing,
            // Streams and messages look for no deaf hosts, and a short transfer is over too soon.
            (true, true) if by.slow && to.kind != JobKind::Pipe && to.kind != JobKind::Messages => {
                Everything
            }
            (true, true) => Perhaps,
        };
        match &by.way {
            SendWay::Group => by_group(true),
            // Repairs are asked for and sent by the group, too.
            SendWay::GroupAlone => by_group(false),
            SendWay::Hosts(hosts) => self.by_host(to, hosts).unwrap_or(Perhaps),
            SendWay::HostsAndGroup(hosts) => {
                let by_group = if host.deaf && to.host != by.host { Perhaps } else { Everything };
                let by_group = if to.group_alone && host.deaf { Nothing } else { by_group };
                self.by_host(to, hosts).map_or(by_group, |rule| rule.max(by_group))
            }
            SendWay::Code => Nothing,
        }
    }

    fn by_host(&self, to: &ReceiverPlan, hosts: &[usize]) -> Option<ShareRule> {
        let rule = if to.group_alone { Nothing } else { Everything };
        hosts.contains(&to.host).then_some(rule)
    }

    /// Rule for a receiver that listens at the other link of a relay.
    fn by_relay(&self, to: &ReceiverPlan, by: &SenderPlan) -> ShareRule {
        let Some(relay) = self.relay else { return Nothing };
        let joined = &self.senders[0];
        let same = to.group == joined.group && to.key == joined.key && joined.way != SendWay::Code;
        let by_group = !matches!(by.way, SendWay::Hosts(_));
        if !same || !by_group || relay == to.host {
            return Nothing;
        }
        // A relay speaks from its own address. Whether that is the source is not promised.
        let plain = to.source.is_none() && !matches!(to.from, Some(FromChoice::Address(_)));
        if plain && !self.hosts[to.host].deaf && !to.group_alone { Everything } else { Perhaps }
    }

    fn by_code(&self, to: &ReceiverPlan, by: &SenderPlan) -> ShareRule {
        let host = &self.hosts[to.host];
        let link = by.link(&self.hosts);
        let at = to.interface.unwrap_or(0);
        match (host.links[at] == link, host.deaf && to.host != by.host) {
            (true, false) => Everything,
            (true, true) => Perhaps,
            (false, _) if host.links.contains(&link) && to.interface.is_none() => Perhaps,
            (false, _) => Nothing,
        }
    }

    /// True if somebody has the code of this sender, and may find it or not.
    fn some_may_come(&self, sender: usize) -> bool {
        let by = &self.senders[sender];
        self.receivers
            .iter()
            .any(|to| to.code == Some((sender, false)) && self.by_code(to, by) == Perhaps)
    }

    /// The receivers that must have everything of a sender.
    pub(super) fn whole(&self, sender: usize) -> Vec<usize> {
        let all = 0..self.receivers.len();
        all.filter(|receiver| self.rule(*receiver, sender) == Everything).collect()
    }

    /// True if somebody may have it who need not.
    pub(super) fn some_perhaps(&self, sender: usize) -> bool {
        (0..self.receivers.len()).any(|receiver| self.rule(receiver, sender) == Perhaps)
    }

    /// True if nodes of the sender's group, with its key, need not have what it sends.
    pub(super) fn group_has_others(&self, sender: usize) -> bool {
        let by = &self.senders[sender];
        let mut all = self.receivers.iter().enumerate();
        all.any(|(number, to)| {
            to.group == by.group && to.key == by.key && self.rule(number, sender) != Everything
        })
    }

    /// True if each host that is named has a receiver that must have everything.
    pub(super) fn hosts_are_right(&self, sender: usize) -> bool {
        let whole = self.whole(sender);
        match &self.senders[sender].way {
            SendWay::Hosts(hosts) | SendWay::HostsAndGroup(hosts) => hosts
                .iter()
                .all(|host| whole.iter().any(|receiver| self.receivers[*receiver].host == *host)),
            _ => true,
        }
    }

    /// True if a receiver of a mirror has to say that it deletes nothing.
    pub(super) fn is_refused(&self, sender: usize) -> bool {
        let all = self.whole(sender);
        self.senders[sender].mirror && all.iter().any(|one| !self.receivers[*one].deletes)
    }

    /// The address of a sender, of the family of a receiver's group.
    pub(super) fn address_of(&self, sender: usize, v6: bool) -> String {
        let one = &self.senders[sender];
        address(one.host, one.link(&self.hosts), v6)
    }
}
