//! What an agent says of its interfaces, as columns of a table with a row for each.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::{
    ber::{Name, Value},
    counters::{CounterReading, Counters, rate},
    speed,
};
use crate::sensor::interfaces::Interface;

/// Columns of the table of interfaces, which all agents have.
const TABLE: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
/// Columns of its extension: names, long counters, the speed in Mbit/s. Small and old agents lack it.
const MORE: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// Since when the agent runs, in hundredths of a second.
const UPTIME: [u32; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];
/// The kind of an interface that leads nowhere (softwareLoopback of IANAifType-MIB).
const LOOPBACK: u64 = 24;
/// Counters that are asked for until they change: so many fit into a short datagram.
const WATCHED: usize = 8;

/// What is asked for, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// ifName and ifDescr.
    Name,
    Description,
    Kind,
    State,
    /// In bit/s, and in Mbit/s.
    Speed,
    HighSpeed,
    In,
    Out,
    /// Of 32 bits.
    InShort,
    OutShort,
    Drops,
}

/// Counters come first, so that they are of one moment as far as can be.
const COLUMNS: [(bool, u32, Column); 14] = [
    (true, 6, Column::In),
    (true, 10, Column::Out),
    (false, 10, Column::InShort),
    (false, 16, Column::OutShort),
    (true, 1, Column::Name),
    (false, 2, Column::Description),
    (false, 3, Column::Kind),
    (false, 5, Column::Speed),
    (true, 15, Column::HighSpeed),
    (false, 8, Column::State),
    (false, 13, Column::Drops),
    (false, 14, Column::Drops),
    (false, 19, Column::Drops),
    (false, 20, Column::Drops),
];

/// What an agent has told of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AgentReport {
    /// Seconds since it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<f64>,
    /// Its interfaces, by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A row as it was told.
#[derive(Debug, Default)]
struct Row {
    name: Option<String>,
    description: Option<String>,
    speed: Option<u64>,
    high_speed: Option<u64>,
    long: Counters,
    short: Counters,
    /// What needs no second look.
    interface: Interface,
}

/// Rows that grow while answers come.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<u32, Row>,
    pub(super) uptime: Option<u64>,
}

/// What a table has told: the report, and counters with the moments that they are of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TableSnapshot {
    pub(super) report: AgentReport,
    pub(super) counters: BTreeMap<String, Counters>,
    /// Names of the counters that were told.
    names: BTreeMap<String, [Name; 2]>,
}

/// Names of all columns.
pub(super) fn columns() -> Vec<Name> {
    COLUMNS.iter().map(|(more, column, _)| prefix(*more, *column)).collect()
}

/// What is before the uptime: asking for what follows gives it.
pub(super) fn before_uptime() -> Name {
    UPTIME[..8].to_vec()
}

fn prefix(more: bool, column: u32) -> Name {
    let table: &[u32] = if more { &MORE } else { &TABLE };
    [table, &[column]].concat()
}

/// A name, or nothing: some agents fill it up with zeros or blanks, Windows ends it with one.
fn text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|sign: char| sign == '\0' || sign.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

impl Table {
    /// A value that was told at this time.
    pub(super) fn on_value(&mut self, name: &Name, value: &Value, at: Duration) {
        if name == &UPTIME {
            if let Value::Number(ticks) = value {
                self.uptime = Some(*ticks);
            }
            return;
        }
        let Some((number, column)) = name.split_last() else { return };
        let found = COLUMNS.iter().find(|(more, number, _)| prefix(*more, *number) == column);
        let Some((_, _, column)) = found.filter(|_| *value != Value::Absent) else { return };
        let row = self.rows.entry(*number).or_default();
        let reading = |octets: u64, is_short: bool| Some(CounterReading { octets, at, is_short });
        match (column, value) {
            (Column::Name, Value::Text(bytes)) => row.name = text(bytes),
            (Column::Description, Value::Text(bytes)) => row.description = text(bytes),
            (Column::Kind, Value::Number(kind)) => row.interface.loopback = *kind == LOOPBACK,
            (Column::State, Value::Number(state)) => row.interface.up = Some(*state == 1),
            (Column::Speed, Value::Number(speed)) => row.speed = Some(*speed),
            (Column::HighSpeed, Value::Number(speed)) => row.high_speed = Some(*speed),
            (Column::In, Value::Number(octets)) => row.long.received = reading(*octets, false),
            (Column::Out, Value::Number(octets)) => row.long.sent = reading(*octets, false),
            (Column::InShort, Value::Number(octets)) => row.short.received = reading(*octets, true),
            (Column::OutShort, Value::Number(octets)) => row.short.sent = reading(*octets, true),
            (Column::Drops, Value::Number(count)) => {
                let sum = row.interface.drops.unwrap_or(0).saturating_add(*count);
                row.interface.drops = Some(sum);
            }
            _ => {}
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// By name, else by description; by number where there is neither, or where two have the same.
    /// `renewed` is when the agent renewed its counters; without it they are of when they were told.
    pub(super) fn finish(self, renewed: Option<Duration>) -> TableSnapshot {
        let mut snapshot = TableSnapshot::default();
        for (number, row) in self.rows {
            let interfaces = &snapshot.report.interfaces;
            let mut labels = [row.name, row.description].into_iter().flatten();
            let label = labels.find(|label| !interfaces.contains_key(label));
            let label = label.unwrap_or_else(|| format!("#{number}"));
            // A long counter that stands at 0 while the short one counts is not served.
            let is_served = |long: &CounterReading, short: Option<CounterReading>| {
                long.octets > 0 || short.is_none_or(|short| short.octets == 0)
            };
            let better = |long: Option<CounterReading>, short: Option<CounterReading>| {
                long.filter(|long| is_served(long, short)).or(short)
            };
            let of_moment = |reading: Option<CounterReading>| {
                reading
                    .map(|reading| CounterReading { at: renewed.unwrap_or(reading.at), ..reading })
            };
            let counters = Counters {
                received: of_moment(better(row.long.received, row.short.received)),
                sent: of_moment(better(row.long.sent, row.short.sent)),
            };
            let name = |long: u32, short: u32, reading: Option<CounterReading>| {
                let is_short = reading.is_none_or(|reading| reading.is_short);
                let column = if is_short { prefix(false, short) } else { prefix(true, long) };
                [column, vec![number]].concat()
            };
            let names = [name(6, 10, counters.received), name(10, 16, counters.sent)];
            let interface = Interface {
                speed_bps: speed::of_columns(row.speed, row.high_speed),
                in_bytes: counters.received.map(|reading| reading.octets),
                out_bytes: counters.sent.map(|reading| reading.octets),
                ..row.interface
            };
            snapshot.report.interfaces.insert(label.clone(), interface);
            snapshot.counters.insert(label.clone(), counters);
            snapshot.names.insert(label, names);
        }
        // An agent whose file does not let us see this answers that there is none: that is not zero.
        snapshot.report.missing = snapshot
            .report
            .interfaces
            .is_empty()
            .then(|| "the agent shows no interfaces: its view may not allow it".to_owned());
        snapshot.report.uptime = self.uptime.map(|ticks| ticks as f64 / 100.0);
        snapshot
    }
}

impl TableSnapshot {
    /// Rates since `before`.
    pub(super) fn measure(&mut self, before: &Self) {
        // An agent that began anew has counted anew.
        if self.report.uptime < before.report.uptime {
            return;
        }
        for (name, interface) in &mut self.report.interfaces {
            let (Some(then), Some(now)) = (before.counters.get(name), self.counters.get(name))
            else {
                continue;
            };
            interface.in_bps = rate(then.received, now.received, interface.speed_bps);
            interface.out_bps = rate(then.sent, now.sent, interface.speed_bps);
        }
    }

    /// All counters stand where they stood.
    pub(super) fn is_as(&self, before: &Self) -> bool {
        let octets = |counters: &Counters| {
            [counters.received, counters.sent].map(|reading| reading.map(|reading| reading.octets))
        };
        self.counters.len() == before.counters.len()
            && self
                .counters
                .iter()
                .zip(&before.counters)
                .all(|((name, now), (other, then))| name == other && octets(now) == octets(then))
    }

    /// Names of the busiest counters: those that have grown most since `before`, and then the largest.
    pub(super) fn busiest(&self, before: Option<&Self>) -> Vec<Name> {
        let octets = |snapshot: &Self, name: &String, at: usize| {
            let counters = snapshot.counters.get(name)?;
            [counters.received, counters.sent][at].map(|reading| reading.octets)
        };
        let mut all: Vec<((u64, u64), &Name)> = Vec::new();
        for (name, names) in &self.names {
            for (at, counter) in names.iter().enumerate() {
                let Some(now) = octets(self, name, at) else { continue };
                let then = before.and_then(|before| octets(before, name, at));
                all.push(((now.saturating_sub(then.unwrap_or(now)), now), counter));
            }
        }
        all.sort_by(|one, other| other.cmp(one));
        all.into_iter().take(WATCHED).map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
