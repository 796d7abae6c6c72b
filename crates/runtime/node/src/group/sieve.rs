//! What the policy allows to come in: datagrams that announce what is not allowed go no further, and
//! what others have passed on is looked at once more before an application has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use fanfare_crypto::policy::{Account, Policy, Refused, Who};
use fanfare_messaging::Description;
use fanfare_proto::{InstanceId, NodeId, ObjectKey, Time};
use fanfare_wire::Message;

/// Nodes whose address is remembered. Of others only rules about all or their node id hold.
const NODES_MAX: usize = 4096;
/// Messages that were refused, whose data is not taken either; the lowest give way.
const REFUSED_MAX: usize = 4096;

/// The sieve of one group.
#[derive(Debug)]
pub(crate) struct Sieve {
    policy: Arc<Policy>,
    account: Account,
    own: NodeId,
    addresses: BTreeMap<NodeId, IpAddr>,
    refused: BTreeSet<ObjectKey>,
    /// Datagrams and messages that went no further.
    pub(crate) dropped: u64,
}

impl Sieve {
    pub(crate) fn new(policy: Arc<Policy>, own: NodeId) -> Self {
        let (account, addresses, refused) = (Account::default(), BTreeMap::new(), BTreeSet::new());
        Self { policy, account, own, addresses, refused, dropped: 0 }
    }

    fn who(&self, node: NodeId) -> Who {
        let address = self.addresses.get(&node).copied();
        Who { address, node: Some(node.0), key: None }
    }

    fn on_heard(&mut self, node: NodeId, source: SocketAddr) {
        if self.addresses.len() < NODES_MAX {
            self.addresses.entry(node).or_insert(source.ip().to_canonical());
        }
    }

    /// Whether a datagram may come in.
    pub(crate) fn admits(&mut self, source: SocketAddr, datagram: &[u8]) -> bool {
        let (key, admitted) = match Message::parse(datagram) {
            Ok(Message::Info(info)) => {
                let sender = (info.sender.source_id, info.sender.instance_id);
                let key = key(sender, info.object_transport_id);
                self.on_heard(sender.0, source);
                (key, self.may(key, info.payload))
            }
            Ok(Message::Data(data)) => {
                let sender = (data.sender.source_id, data.sender.instance_id);
                let key = key(sender, data.object_transport_id);
                self.on_heard(sender.0, source);
                (key, !self.refused.contains(&key))
            }
            // Commands, feedback, and what only the group's node understands.
            _ => return true,
        };
        if !admitted {
            self.dropped += 1;
            self.refused.insert(key);
            while self.refused.len() > REFUSED_MAX {
                self.refused.pop_first();
            }
        }
        admitted
    }

    fn may(&self, key: ObjectKey, info: &[u8]) -> bool {
        if key.sender == self.own {
            return true;
        }
        let Some(description) = Description::decode(info) else { return true };
        let Some(rule) = self.policy.rule(&self.who(key.sender)) else { return false };
        let size = description.content.as_ref().map_or(0, |content| content.len() as u64);
        rule.may_publish(description.topic.as_str())
            && rule.max_message.is_none_or(|max| size <= max)
    }

    /// Messages that are whole: whether an application may have them.
    pub(crate) fn on_message(
        &mut self,
        now: Time,
        key: ObjectKey,
        (description, size): (&Description, u64),
    ) -> Result<(), Refused> {
        if key.sender == self.own {
            return Ok(());
        }
        let number = self.policy.number(&self.who(key.sender));
        let topic = description.topic.as_str();
        let count = u64::from(description.messages().max(1));
        let about = (now.since(Time::ZERO), topic, size, count);
        let verdict = self.account.message(&self.policy, number, about);
        self.dropped += u64::from(verdict.is_err());
        verdict
    }
}

fn key(
    (sender, instance): (NodeId, InstanceId),
    object: fanfare_proto::ObjectTransportId,
) -> ObjectKey {
    ObjectKey { sender, instance, object }
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::{Options, Topic};
    use fanfare_proto::ObjectTransportId;

    use super::*;

    const POLICY: &str = "[[rule]]\n\
                          who = ['10.0.0.0/24']\n\
                          publish = ['weather/#']\n\
                          max_message = 100\n\
                          max_per_minute = 2\n";

    fn sieve() -> Sieve {
        Sieve::new(Arc::new(Policy::parse(POLICY).unwrap()), NodeId(9))
    }

    fn description(topic: &str) -> Description {
        let (topic, options) = (Topic::new(topic).unwrap(), Options::default());
        Description { topic, number: 0, options, batch: None, content: None }
    }

    fn of(node: u32) -> ObjectKey {
        key((NodeId(node), InstanceId(1)), ObjectTransportId(3))
    }

    fn heard(sieve: &mut Sieve, node: u32, address: [u8; 4]) {
        sieve.on_heard(NodeId(node), (address, 6003).into());
    }

    #[test]
    fn topics_sizes_and_numbers_are_taken_as_far_as_the_senders_rule_goes() {
        let mut sieve = sieve();
        heard(&mut sieve, 1, [10, 0, 0, 7]);
        heard(&mut sieve, 2, [10, 0, 1, 7]);
        let (rain, other) = (description("weather/rain"), description("orders"));
        let now = Time::ZERO;
        assert_eq!(sieve.on_message(now, of(1), (&rain, 101)), Err(Refused::TooLarge));
        assert_eq!(sieve.on_message(now, of(1), (&other, 1)), Err(Refused::NotAllowed));
        assert_eq!(sieve.on_message(now, of(2), (&rain, 1)), Err(Refused::Unknown));
        assert_eq!(sieve.on_message(now, of(3), (&rain, 1)), Err(Refused::Unknown));
        assert_eq!(sieve.on_message(now, of(1), (&rain, 100)), Ok(()));
        assert_eq!(sieve.on_message(now, of(1), (&rain, 100)), Ok(()));
        assert_eq!(sieve.on_message(now, of(1), (&rain, 100)), Err(Refused::TooMuch));
        assert_eq!(sieve.on_message(now, of(9), (&other, 1)), Ok(()), "its own");
        assert_eq!(sieve.dropped, 5);
    }

    #[test]
    fn an_announcement_of_another_topic_goes_no_further() {
        let mut sieve = sieve();
        heard(&mut sieve, 1, [10, 0, 0, 7]);
        assert!(sieve.may(of(1), &description("weather/rain").encode()));
        assert!(!sieve.may(of(1), &description("orders").encode()));
        assert!(!sieve.may(of(2), &description("weather/rain").encode()));
    }
}
