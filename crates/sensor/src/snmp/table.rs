//! What an agent says of its interfaces, as columns of a table with a row for each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ber::{Name, Value};
use crate::interfaces::Interface;

/// Columns of the table of interfaces: ifOperStatus, errors and drops, and the older, short counters.
const TABLE: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
/// Columns of its extension: names, long counters, the speed in Mbit/s.
const MORE: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// Since when the agent runs, in hundredths of a second.
const UPTIME: [u32; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];

/// What is asked for, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    State,
    Speed,
    In,
    Out,
    /// Of 32 bits.
    InShort,
    OutShort,
    Drops,
}

const COLUMNS: [(bool, u32, Column); 11] = [
    (true, 1, Column::Name),
    (true, 6, Column::In),
    (true, 10, Column::Out),
    (true, 15, Column::Speed),
    (false, 8, Column::State),
    (false, 10, Column::InShort),
    (false, 16, Column::OutShort),
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

/// Rows that grow while answers come.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<u32, (Option<String>, Interface)>,
    pub(super) uptime: Option<u64>,
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

impl Table {
    /// A value that was told; gives the number of the column that it is of.
    pub(super) fn on_value(&mut self, name: &Name, value: &Value) -> Option<usize> {
        if name == &UPTIME {
            if let Value::Number(ticks) = value {
                self.uptime = Some(*ticks);
            }
            return None;
        }
        let (row, column) = name.split_last()?;
        let at = COLUMNS.iter().position(|(more, number, _)| prefix(*more, *number) == column)?;
        if *value == Value::Absent {
            return None;
        }
        let (label, interface) = self.rows.entry(*row).or_default();
        match (COLUMNS[at].2, value) {
            (Column::Name, Value::Text(text)) => {
                *label = Some(String::from_utf8_lossy(text).into_owned());
            }
            (Column::State, Value::Number(state)) => interface.up = Some(*state == 1),
            (Column::Speed, Value::Number(speed)) if *speed > 0 => {
                interface.speed_bps = Some(speed.saturating_mul(1_000_000));
            }
            (Column::In, Value::Number(bytes)) => interface.in_bytes = Some(*bytes),
            (Column::Out, Value::Number(bytes)) => interface.out_bytes = Some(*bytes),
            // The long counters are asked for first, and win.
            (Column::InShort, Value::Number(bytes)) => {
                interface.in_bytes = interface.in_bytes.or(Some(*bytes));
            }
            (Column::OutShort, Value::Number(bytes)) => {
                interface.out_bytes = interface.out_bytes.or(Some(*bytes));
            }
            (Column::Drops, Value::Number(count)) => {
                let sum = interface.drops.unwrap_or(0).saturating_add(*count);
                interface.drops = Some(sum);
            }
            _ => {}
        }
        Some(at)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// By name; by number where there is no name, or where two have the same.
    pub(super) fn finish(self) -> AgentReport {
        let mut interfaces = BTreeMap::new();
        for (row, (label, interface)) in self.rows {
            let label = label.filter(|label| !label.is_empty() && !interfaces.contains_key(label));
            interfaces.insert(label.unwrap_or_else(|| format!("#{row}")), interface);
        }
        // An agent whose file does not let us see this answers that there is none: that is not zero.
        let missing = interfaces
            .is_empty()
            .then(|| "the agent shows no interfaces: its view may not allow it".to_owned());
        let uptime = self.uptime.map(|ticks| ticks as f64 / 100.0);
        AgentReport { uptime, interfaces, missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows_and_long_counters_win() {
        let mut table = Table::default();
        let mut tell = |more: bool, column: u32, row: u32, value: Value| {
            let name = [prefix(more, column), vec![row]].concat();
            table.on_value(&name, &value);
        };
        tell(true, 1, 2, Value::Text(b"eth0".to_vec()));
        tell(true, 6, 2, Value::Number(1 << 40));
        tell(false, 10, 2, Value::Number(5));
        tell(false, 16, 2, Value::Number(6));
        tell(false, 13, 2, Value::Number(1));
        tell(false, 14, 2, Value::Number(2));
        tell(true, 15, 2, Value::Number(1000));
        tell(false, 8, 2, Value::Number(2));
        tell(true, 6, 3, Value::Absent);
        table.on_value(&UPTIME.to_vec(), &Value::Number(250));
        let report = table.finish();
        let expected = Interface {
            up: Some(false),
            speed_bps: Some(1_000_000_000),
            in_bytes: Some(1 << 40),
            out_bytes: Some(6),
            drops: Some(3),
            ..Interface::default()
        };
        assert_eq!(report.interfaces, BTreeMap::from([("eth0".to_owned(), expected)]));
        assert_eq!((report.uptime, report.missing), (Some(2.5), None));
    }

    #[test]
    fn an_agent_that_shows_nothing_says_so() {
        assert!(Table::default().finish().missing.is_some());
    }
}
