//! What a plan changes during a run: hosts, links, injected datagrams, and calls to sessions.

use core::net::SocketAddr;
use std::rc::Rc;

use fanfare_proto::{Duration, RollCalls, Session};

use super::{ScheduledEvent, Simulation, hash_bytes};
use crate::{
    network::{Delivery, Host, Hosts},
    plan::{Change, Plan},
};

impl Simulation {
    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::Start(host) => self.start(host),
            Change::Crash(host) => {
                self.set_up(host, false);
                self.nodes[usize::from(host.0)].crash();
            }
            Change::Partition(hosts) => self.set_side(hosts, 1),
            Change::Heal => self.set_side(Hosts::All, 0),
            Change::Link(from, to, link) => self.network.set_link(from, to, link),
            Change::Uplink(from, link) => self.network.set_uplink(from, link),
            Change::Hop(from, to, hop) => {
                if let Some(fabric) = &mut self.fabric {
                    fabric.set_hop(self.now, from, to, hop);
                }
                self.enter_steps();
            }
            Change::Inject { to, source, bytes } => self.inject(to, source, &bytes),
            Change::Tamper { like, to, source, patches } => {
                let mut bytes = self.last_data[usize::from(like.0)].clone();
                for (offset, patch) in patches {
                    if let Some(place) = bytes.get_mut(offset..offset + patch.len()) {
                        place.copy_from_slice(&patch);
                    }
                }
                self.inject(to, source.unwrap_or(like.address()), &bytes);
            }
            command => self.command(command),
        }
    }

    /// A change that is a call to one host's session.
    fn command(&mut self, command: Change) {
        let host = match &command {
            Change::Send(host, _)
            | Change::Publish(host, _)
            | Change::Cancel(host, _)
            | Change::Requeue(host, _)
            | Change::End(host)
            | Change::Rate(host, _)
            | Change::Hold(host, _)
            | Change::Watermark(host, _)
            | Change::RollCall(host, _)
            | Change::RollCallOf(host, ..)
            | Change::Status(host, ..)
            | Change::Confirm(host)
            | Change::Have(host, _)
            | Change::Examine(host, _)
            | Change::Reject(host, ..)
            | Change::Evict(host, _)
            | Change::Defer(host, ..)
            | Change::Tail(host, _)
            | Change::Finish(host, _) => *host,
            _ => return,
        };
        let node = &mut self.nodes[usize::from(host.0)];
        let nth = match &command {
            Change::Requeue(_, nth) => node.transport_id(*nth),
            _ => None,
        };
        let now = self.now;
        let Some(session) = node.session() else { return };
        match command {
            Change::Send(_, object) => node.offer(object),
            Change::Publish(_, publication) => node.publish(publication),
            Change::Cancel(_, nth) => node.cancel(nth),
            Change::Requeue(..) => {
                if let Some(object) = nth {
                    session.sender().requeue(object);
                }
            }
            Change::End(_) => session.sender().end(),
            Change::Rate(_, rate) => session.sender().set_rate(rate),
            Change::Hold(_, hold) => session.sender().hold(hold),
            Change::Watermark(_, hosts) => {
                let nodes: Vec<_> = hosts.into_iter().map(Plan::node_id).collect();
                session.sender().set_watermark(&nodes);
            }
            Change::RollCall(_, interval) => call_roll(session, interval, None),
            Change::RollCallOf(_, interval, awaited) => {
                call_roll(session, interval, Some(awaited));
            }
            Change::Status(_, status, announce) => {
                session.receiver().set_status(status, announce);
            }
            Change::Confirm(_) => node.confirm(),
            Change::Have(_, ranges) => node.held_before(ranges),
            Change::Examine(_, examined) => node.examine(now, examined),
            Change::Reject(_, nth, bytes) => node.reject(now, nth, bytes),
            Change::Evict(_, other) => session.sender().evict(Plan::node_id(other)),
            Change::Defer(_, other, defer) => session.sender().defer(Plan::node_id(other), defer),
            Change::Tail(_, policy) => session.sender().set_tail(policy),
            Change::Finish(_, other) => session.sender().finish(Plan::node_id(other)),
            _ => {}
        }
        self.settle(host);
    }

    fn inject(&mut self, to: Hosts, source: SocketAddr, bytes: &[u8]) {
        let count = self.nodes.len() as u16;
        let to = (0..count).map(Host).filter(|host| to.contains(*host)).collect();
        let (bytes, hash) = (Rc::from(bytes), hash_bytes(bytes));
        let delivery =
            Delivery { at: self.now, source, unicast: false, ecn: None, to, bytes, hash };
        self.happen(ScheduledEvent::Delivery(delivery));
    }
}

fn call_roll(session: &mut Session, interval: Duration, awaited: Option<u32>) {
    let calls = RollCalls { content: Vec::new(), interval, awaited, again: 0 };
    session.sender().set_roll_call(Some(calls));
}
