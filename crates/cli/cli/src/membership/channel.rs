//! How members talk: reliable messages in a group that is sealed with one key. Each epoch and each
//! invitation has a channel of its own, at the same address; who does not have the key hears nothing.

use std::{net::SocketAddr, time::Duration};

use fanfare_command::Failure;
use fanfare_mls::Invitation;
use fanfare_node::{
    GroupSpec, Keys, Network,
    group::{Group, GroupEvent, GroupOptions, Watch, body::Body},
    messaging::{Filter, Options, Subscription, Topic},
    seal::{Form, Key},
};

/// What is said on a channel, by topic.
pub(crate) const CHANGE: &str = "group/change";
pub(crate) const LEAVE: &str = "group/leave";
pub(crate) const ASK: &str = "join/ask";
pub(crate) const ANSWER: &str = "join/answer";
/// Longest message: a welcome of a thousand members has 332 KB.
const LONGEST: u64 = 8 << 20;
/// Messages taken at once.
const AT_ONCE: usize = 64;

/// One of them.
#[derive(Debug)]
pub(crate) struct Channel {
    group: Group,
}

/// Where the machine is on the network.
#[derive(Debug, Clone)]
pub(crate) struct Where {
    pub(crate) address: SocketAddr,
    pub(crate) interface: Option<String>,
    pub(crate) ttl: u8,
}

impl Channel {
    /// With the key of an epoch.
    pub(crate) fn open(at: &Where, key: Key) -> Result<Self, Failure> {
        let spec: GroupSpec =
            at.address.to_string().parse().map_err(|error: fanfare_node::GroupSpecError| {
                Failure::usage("group.invalid", error.to_string())
            })?;
        let keys = Keys::new(vec![key], Form::Long);
        let mut network = Network::new(spec).sealed(keys).ttl(at.ttl).shorten_segment();
        if let Some(interface) = &at.interface {
            network = network.interface(interface);
        }
        let options = GroupOptions { message_max: LONGEST, ..GroupOptions::default() };
        let group = network.join(options)?;
        let all = Filter::new("#").map_err(|error| refused(&error))?;
        group.subscribe(Subscription::new(all)).map_err(|error| refused(&error))?;
        Ok(Self { group })
    }

    /// With an invitation.
    pub(crate) fn of_invitation(at: &Where, invitation: &Invitation) -> Result<Self, Failure> {
        Self::open(at, invitation.key())
    }

    /// Says something to all who have the key, and to those who come later as long as this is open.
    pub(crate) fn say(&self, topic: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        let topic = Topic::new(topic).map_err(|error| refused(&error))?;
        let said = self.group.publish(topic, Body::new(bytes), Options::default(), Watch::Nothing);
        said.map(drop).map_err(|error| refused(&error))
    }

    /// What has come, by topic; waits for the first no longer than this.
    pub(crate) fn hear(&self, timeout: Duration) -> Vec<(String, Vec<u8>)> {
        let mut heard = Vec::new();
        let mut wait = timeout;
        while heard.len() < AT_ONCE
            && let Ok(event) = self.group.next_event(wait)
        {
            if let GroupEvent::Message(message) = event {
                wait = Duration::ZERO;
                if let Ok(bytes) = message.body.to_vec() {
                    heard.push((message.description.topic.to_string(), bytes));
                }
            }
        }
        heard
    }
}

fn refused(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(fanfare_command::Exit::Failed, "group.channel", format!("group: {error}"))
}
