//! A run over time as comma-separated values: one line for each 100 ms and each hop, host and flow.

use std::fmt::Write;

use crate::results::{
    hop_report::HopReport,
    report::Report,
    series::{STEP, Series},
};

impl Report {
    /// Columns `time_s, hop, rate_bps, longest_queue_ms, drops, marks`: each hop with a rate.
    #[must_use]
    pub fn hops_csv(&self) -> String {
        let mut csv = String::from("time_s,hop,rate_bps,longest_queue_ms,drops,marks\n");
        for hop in self.hops.iter().filter(|hop| hop.rate.is_some()) {
            for step in 0..self.steps() {
                let name = self.hop_name(hop);
                let longest = hop.longest_us.at(step) as f64 / 1e3;
                // Writing to a string cannot fail.
                let _ = writeln!(
                    csv,
                    "{:.1},{name},{},{longest},{},{}",
                    begin(step),
                    bps(&hop.bytes, step),
                    hop.drops.at(step),
                    hop.marks.at(step)
                );
            }
        }
        csv
    }
    /// Columns `time_s, receiver, goodput_bps`: each host that receives, each background flow.
    #[must_use]
    pub fn goodput_csv(&self) -> String {
        let mut csv = String::from("time_s,receiver,goodput_bps\n");
        for (name, series) in self.goodput_series() {
            for step in 0..self.steps() {
                let _ = writeln!(csv, "{:.1},{name},{}", begin(step), bps(series, step));
            }
        }
        csv
    }
    /// Columns `time_s, receiver, layers, rate_bps`: each change of the layers that a receiver of a layered
    /// session is in, and the sum of their rates.
    #[must_use]
    pub fn layers_csv(&self) -> String {
        let mut csv = String::from("time_s,receiver,layers,rate_bps\n");
        for receiver in &self.layered {
            let name = self.label(receiver.place);
            for (at, layers, rate) in &receiver.levels {
                let _ = writeln!(csv, "{:.3},{name},{layers},{rate}", at.as_secs_f64());
            }
        }
        csv
    }
    /// What receivers got over time: each host that receives, each background flow, each receiver
    /// of layers, by name.
    #[must_use]
    pub fn goodput_series(&self) -> Vec<(String, &Series)> {
        let hosts = self.hosts.iter().filter(|host| host.receives);
        let hosts = hosts.map(|host| (self.label(host.host), &host.received));
        let flows = self.flows.iter().enumerate();
        let layered = self.layered.iter().map(|r| (self.label(r.place), &r.received));
        let flows = flows.map(|(n, flow)| (self.flow_name(n), &flow.received));
        hosts.chain(flows).chain(layered).collect()
    }

    /// What a hop is called in tables: `from-to`.
    #[must_use]
    pub fn hop_name(&self, hop: &HopReport) -> String {
        format!("{}-{}", self.label(hop.from), self.label(hop.to))
    }
    /// What a background flow is called in tables: its name, or its number, kind and ends.
    #[must_use]
    pub fn flow_name(&self, number: usize) -> String {
        let flow = &self.flows[number];
        if let Some(name) = &flow.name {
            return name.clone();
        }
        let (from, to) = (self.label(flow.from), self.label(flow.to));
        format!("{}{number}:{from}-{to}", flow.kind.name())
    }
    /// Whole steps of the run.
    fn steps(&self) -> usize {
        (self.ended.as_nanos() / STEP.as_nanos() as u64) as usize
    }
}

fn begin(step: usize) -> f64 {
    step as f64 * STEP.as_secs_f64()
}
fn bps(series: &Series, step: usize) -> u64 {
    (series.at(step) as f64 * 8.0 / STEP.as_secs_f64()) as u64
}
