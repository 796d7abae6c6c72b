//! Everything that is looked at, and what is said of a span of time.

use std::time::Instant;

use fanfare_messaging::monitor::observe::Observer;
use fanfare_monitor::sensor::{
    Addresses,
    capture::Capture,
    copies::{Copies, Place},
    dissect::{Frame, LinkType, Refused, dissect},
    host::HostFacts,
    interfaces::Interfaces,
    replay::Origin,
    report::{Host, Report, Reporter},
};

use crate::sensor::agents::Agents;

/// What is looked at.
pub(crate) struct Look {
    pub(crate) captures: Vec<Capture>,
    pub(crate) agents: Agents,
    pub(crate) name: String,
    pub(crate) every: f64,
    pub(crate) missing: Vec<String>,
    packets: Seen,
    host: HostFacts,
    interfaces: Interfaces,
    last: Instant,
}

/// What packets have told.
pub(crate) struct Seen {
    observer: Observer,
    reporter: Reporter,
    ports: Vec<u16>,
    copies: Copies,
}

impl Seen {
    pub(crate) fn new(addresses: Addresses, ports: Vec<u16>) -> Self {
        Self {
            observer: Observer::new(),
            reporter: Reporter::new(addresses),
            ports,
            copies: Copies::default(),
        }
    }

    pub(crate) fn on_frame(&mut self, link: LinkType, place: Place, frame: Frame<'_>) {
        let place = place.of_frame(link, frame.bytes);
        match dissect(link, &self.ports, frame) {
            Ok(sighting) if self.copies.is_copy(place, &sighting) => {
                self.reporter.on_refused(Refused::Copy);
            }
            Ok(sighting) => self.observer.on_sighting(&sighting),
            Err(why) => self.reporter.on_refused(why),
        }
    }

    /// A packet of a file, which says of what kind its link is.
    pub(crate) fn on_packet(&mut self, origin: Origin, frame: Frame<'_>) {
        let place = Place { interface: origin.interface, outgoing: None };
        match LinkType::of_number(origin.link) {
            Some(link) => self.on_frame(link, place, frame),
            None => self.reporter.on_refused(Refused::Link),
        }
    }

    pub(crate) fn told(&mut self, seconds: f64) -> fanfare_monitor::sensor::report::Packets {
        self.reporter.packets(&self.observer, seconds)
    }
}

impl Look {
    pub(crate) fn new(name: String, every: f64, packets: Seen, agents: Agents) -> Self {
        Self {
            captures: Vec::new(),
            agents,
            name,
            every,
            missing: Vec::new(),
            packets,
            host: HostFacts::new(),
            interfaces: Interfaces::default(),
            last: Instant::now(),
        }
    }

    /// Takes what the kernel has ready.
    pub(crate) fn take(&mut self) {
        let packets = &mut self.packets;
        for capture in &mut self.captures {
            let link = capture.link();
            capture.take(|place, frame| packets.on_frame(link, place, frame));
        }
    }

    /// What is said of the time since the last report.
    pub(crate) fn report(&mut self) -> Report {
        let span = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        for capture in &mut self.captures {
            // Without the count the packets are still right.
            let counted = capture.counted().unwrap_or_default();
            self.packets.reporter.dropped += counted.dropped;
        }
        let facts = self.host.read();
        let (agents, silent) = self.agents.known();
        let mut missing = self.missing.clone();
        missing.extend(silent);
        let packets = (!self.captures.is_empty()).then(|| self.packets.told(span));
        Report {
            sensor: self.name.clone(),
            span,
            every: self.every,
            host: Host { processor: facts.processor, memory: facts.memory, battery: facts.battery },
            interfaces: self.interfaces.read(span),
            packets,
            agents,
            missing,
        }
    }
}
