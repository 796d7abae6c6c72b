//! Some flows over one bottleneck, in virtual time: for tests and for the comparison with a kernel.

use fanfare_proto::{Duration, Time};

use super::{Bottleneck, Config, Receiver, Segment, Sender, Source};
use crate::event_queue::EventQueue;

/// The two ends of a flow.
#[derive(Debug)]
pub struct Flow {
    /// Where it begins.
    pub sender: Sender,
    /// Where it ends.
    pub receiver: Receiver,
}

/// Flows whose data meets in a [`Bottleneck`]; their ACKs have only its delay.
#[derive(Debug)]
pub struct Pipe {
    /// The line; may be changed under way.
    pub bottleneck: Bottleneck,
    /// The flows, in order of entry.
    pub flows: Vec<Flow>,
    arrivals: EventQueue<(usize, Segment)>,
    now: Time,
}

impl Pipe {
    /// A pipe without flows.
    #[must_use]
    pub fn new(bottleneck: Bottleneck) -> Self {
        Self { bottleneck, flows: Vec::new(), arrivals: EventQueue::new(), now: Time::ZERO }
    }

    /// With another flow, which begins when the pipe runs on.
    #[must_use]
    pub fn flow(mut self, config: Config, source: Source) -> Self {
        let (sender, receiver) = (Sender::new(config, source), Receiver::new(config));
        self.flows.push(Flow { sender, receiver });
        self
    }

    /// Runs on until `end` from the start; returns the bytes that each flow got in order meanwhile.
    pub fn run_to(&mut self, end: Duration) -> Vec<u64> {
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.receiver.delivered()).collect();
        (0..self.flows.len()).for_each(|n| self.send(n));
        while let Some(at) = self.next_time().filter(|at| *at <= Time::ZERO + end) {
            self.now = at;
            self.step();
        }
        self.now = Time::ZERO + end;
        self.flows.iter().zip(before).map(|(flow, b)| flow.receiver.delivered() - b).collect()
    }

    /// Goodput of each flow from `from` to `to`, bit/s.
    pub fn goodput(&mut self, from: Duration, to: Duration) -> Vec<f64> {
        self.run_to(from);
        let seconds = to.saturating_sub(from).as_secs_f64();
        self.run_to(to).iter().map(|bytes| *bytes as f64 * 8.0 / seconds).collect()
    }

    /// When something will happen next; `None` when all is quiet.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        let timers = self
            .flows
            .iter()
            .flat_map(|flow| [flow.sender.next_timeout(), flow.receiver.next_timeout()]);
        timers.chain([self.arrivals.next_time()]).flatten().min()
    }

    fn step(&mut self) {
        let now = self.now;
        while self.arrivals.next_time().is_some_and(|at| at <= now)
            && let Some((_, (n, segment))) = self.arrivals.pop()
        {
            match segment.length {
                0 => self.flows[n].sender.on_segment(now, &segment),
                _ => self.flows[n].receiver.on_segment(now, &segment),
            }
            self.send(n);
        }
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        for n in 0..self.flows.len() {
            let Flow { sender, receiver } = &mut self.flows[n];
            if due(sender.next_timeout()) {
                sender.on_timeout(now);
            }
            if due(receiver.next_timeout()) {
                receiver.on_timeout(now);
            }
            self.send(n);
        }
    }

    fn send(&mut self, n: usize) {
        let now = self.now;
        while let Some(mut segment) = self.flows[n].sender.poll_segment(now) {
            if let Some(departure) = self.bottleneck.carry(now, segment.wire_bytes()) {
                segment.congestion_experienced = departure.marked && segment.ecn_capable;
                self.arrivals.push(departure.at, (n, segment));
            }
        }
        while let Some(ack) = self.flows[n].receiver.poll_segment(now) {
            self.arrivals.push(now + self.bottleneck.one_way, (n, ack));
        }
    }
}
