//! Gateways in a run: passes messages of their hosts to the gateway, and what it forwards to its
//! hosts.

use fanfare_messaging::{ForwardedMessage, Gateway, GroupIndex, IncomingMessage};
use fanfare_proto::Time;

use super::{ScheduledEvent, Simulation};
use crate::{
    network::Host,
    plan::{GatewayPlan, GatewayReport},
};

/// One that runs, or waits for its hosts.
#[derive(Debug)]
pub(super) struct Running {
    plan: GatewayPlan,
    machine: Option<Gateway<()>>,
    /// The lives of its hosts that it was begun in, and how many messages of each it was told.
    lives: Vec<usize>,
    told: Vec<usize>,
    planned: Option<Time>,
}

impl Running {
    pub(super) fn new(plan: &GatewayPlan) -> Self {
        let (lives, told) = (Vec::new(), vec![0; plan.hosts.len()]);
        Self { plan: plan.clone(), machine: None, lives, told, planned: None }
    }

    pub(super) fn into_report(self) -> GatewayReport {
        let stats = |way: (GroupIndex, GroupIndex)| {
            let machine = self.machine.as_ref();
            (way, machine.map(|machine| machine.stats(way.0, way.1)).unwrap_or_default())
        };
        let ways = self.plan.ways().map(stats).collect();
        GatewayReport { hosts: self.plan.hosts, ways }
    }
}

impl Simulation {
    /// Something has happened at a host: the gateways that it is part of go on.
    pub(super) fn settle_gateways(&mut self, host: Host) {
        for number in 0..self.gateways.len() {
            if self.gateways[number].plan.hosts.contains(&host) {
                self.run_gateway(number);
            }
        }
    }

    pub(super) fn wake_gateway(&mut self, number: usize) {
        self.gateways[number].planned = None;
        self.run_gateway(number);
    }

    fn run_gateway(&mut self, number: usize) {
        self.tell_gateway(number);
        while let Some((host, crossing)) = self.next_crossing(number) {
            self.nodes[usize::from(host.0)].carry(self.now, &crossing);
            self.settle(host);
        }
        let running = &mut self.gateways[number];
        let next = running.machine.as_ref().and_then(Gateway::next_timeout);
        // What waits for room goes when its host has sent something.
        let next = next.filter(|at| *at > self.now && *at < Time::FAR_FUTURE);
        if let Some(at) = next.filter(|at| running.planned.is_none_or(|planned| *at < planned)) {
            running.planned = Some(at);
            self.events.push(at, ScheduledEvent::Gateway(number));
        }
    }

    fn next_crossing(&mut self, number: usize) -> Option<(Host, ForwardedMessage<()>)> {
        let Self { gateways, nodes, now, .. } = self;
        let Running { plan, machine, .. } = &mut gateways[number];
        let host = |side: GroupIndex| plan.hosts[usize::from(side.0)];
        let room = |side| nodes[usize::from(host(side).0)].has_room();
        let crossing = machine.as_mut()?.poll(*now, room)?;
        Some((host(crossing.to), crossing))
    }

    fn tell_gateway(&mut self, number: usize) {
        let Self { gateways, nodes, now, plan, .. } = self;
        let running = &mut gateways[number];
        let hosts = running.plan.hosts.iter();
        let hosts: Vec<usize> = hosts.map(|host| usize::from(host.0)).collect();
        if !hosts.iter().all(|host| nodes[*host].is_up()) {
            running.machine = None;
            return;
        }
        let lives: Vec<usize> = hosts.iter().map(|host| nodes[*host].life()).collect();
        if running.machine.is_none() || lives != running.lives {
            let seed = plan.seed ^ (number as u64 + 1) << 40 ^ (lives.iter().sum::<usize>() as u64);
            running.machine = Some(running.plan.start(*now, seed));
            running.lives = lives;
        }
        let Some(machine) = &mut running.machine else { return };
        for (side, host) in hosts.into_iter().enumerate() {
            let node = &nodes[host];
            for (at, message) in node.messages.iter().skip(running.told[side]) {
                let age = node.age(message.key).max(now.since(*at));
                let (key, size, description) = (message.key, message.size, &message.description);
                let heard = IncomingMessage { key, size, age, description, body: () };
                machine.on_message(*now, GroupIndex(side as u8), heard);
            }
            running.told[side] = node.messages.len();
        }
    }
}
