//! The rows as Markdown.

use super::{Buffer, RateCell, RateRow, Spread, short::short};
use std::{
    fmt::{self, Write as _},
    fs,
};

/// What is the same for all rows.
pub(super) struct Heading<'a> {
    pub(super) repetitions: u32,
    pub(super) version: &'a str,
}

const COLUMNS: [&str; 22] = [
    "cell",
    "link",
    "round trip, ms",
    "loss",
    "to",
    "buffer",
    "file",
    "auto, Mbit/s",
    "told",
    "told, Mbit/s",
    "TCP, Mbit/s",
    "raw UDP, Mbit/s",
    "auto/link",
    "auto/told",
    "auto/TCP",
    "worst/median",
    "sent/file, auto",
    "sent/file, told",
    "auto, ms",
    "limited by",
    "complete",
    "goals missed",
];
/// Of cells where something else happens on the link.
const SHARED: [&str; 10] = [
    "cell",
    "auto, Mbit/s",
    "each TCP, Mbit/s",
    "share, auto",
    "share, TCP",
    "down, s",
    "up, s",
    "share, down",
    "share, up",
    "goals missed",
];

/// A hundredth of all packets may be so late in the emulator (docs/reference/laboratory.md), milliseconds.
const LATE_MS: f64 = 2.0;

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{}B", short(*bytes)),
            Self::Products(1.0) => f.write_str("1 product"),
            Self::Products(share) => write!(f, "{share} products"),
        }
    }
}

/// All rows.
pub(super) fn markdown(rows: &[RateRow], heading: &Heading<'_>) -> String {
    let Heading { repetitions, version } = heading;
    let mut text = format!(
        "# rate\n\n\
         `fanfare send` without `--rate` (`auto`), beside the best of some rates that it is told, and beside TCP \
         (CUBIC) to each receiver at once. Medians of {repetitions}, with least and most in brackets. Mbit/s are bits of \
         the file over the time from the start of the sender's program until its end. Made by `fanfare bench rate`; \
         docs/explanation/throughput.md says what cells, columns and goals mean.\n\n\
         Fanfare {version}. {}.\n",
        machine()
    );
    let is_shared = |row: &&RateRow| row.shares().is_some() || row.reaction.is_some();
    let alone = rows.iter().filter(|row| !is_shared(row));
    section(&mut text, &COLUMNS, alone.map(cells));
    section(&mut text, &SHARED, rows.iter().filter(is_shared).map(shared));
    let reached = rows.iter().filter(|row| row.missed.is_empty()).count();
    // Writing to a string cannot fail.
    let _ = write!(text, "\nAll goals are reached in {reached} of {} cells.\n", rows.len());
    for row in rows {
        if let Some(late) = row.emulator_late_ms.filter(|late| *late > LATE_MS) {
            let name = row.cell.name;
            let _ = write!(
                text,
                "\nThe emulator was {late:.1} ms late in {name}: this machine is too busy for it.\n"
            );
        }
    }
    for row in rows.iter().filter(|row| !row.why.is_empty()) {
        let _ = write!(text, "\nNot complete in {}: {}.\n", row.cell.name, row.why);
    }
    text
}

fn section(text: &mut String, columns: &[&str], lines: impl Iterator<Item = Vec<String>>) {
    let lines: Vec<String> = lines.map(|line| format!("| {} |\n", line.join(" | "))).collect();
    if !lines.is_empty() {
        let rule = "--:|".repeat(columns.len() - 1);
        let _ = write!(text, "\n| {} |\n|---|{rule}\n{}", columns.join(" | "), lines.concat());
    }
}

/// On what it was measured.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let model = field(&read("/proc/cpuinfo"), "model name");
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kilobytes: u64 = memory.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{processors} processors ({model}) for all programs together, {} GB of memory, Linux {}",
        kilobytes / 1_000_000,
        kernel.trim()
    )
}

/// Behind the colon of the first line that begins with this name.
fn field(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    value.unwrap_or("of a kind that the system does not name").to_owned()
}

fn cells(row: &RateRow) -> Vec<String> {
    let cell = &row.cell;
    vec![
        cell.name.to_owned(),
        cell.rate_bps.map_or_else(|| "free".to_owned(), short),
        cell.round_trip_ms.to_string(),
        if cell.loss > 0.0 { format!("{} %", percent(cell.loss)) } else { String::new() },
        cell.receivers.to_string(),
        cell.buffer.to_string(),
        short(cell.size),
        mega(&row.auto_bps),
        row.best_told_bps.map(short).unwrap_or_default(),
        row.told_bps.as_ref().map(mega).unwrap_or_default(),
        row.tcp_bps.as_ref().map(mega).unwrap_or_default(),
        row.raw_bps.map(|raw| format!("{:.0}", raw.median / 1e6)).unwrap_or_default(),
        figure(row.over_link, 2),
        figure(row.over_told, 2),
        figure(row.over_tcp, 2),
        figure(row.worst_of_median(), 2),
        figure(row.wire_per_file[0], 3),
        figure(row.wire_per_file[1], 3),
        time(row),
        row.limited_by.clone().unwrap_or_default(),
        format!("{} of {}", row.complete[0], row.complete[1]),
        row.missed.join("; "),
    ]
}

fn shared(row: &RateRow) -> Vec<String> {
    let share = |who: usize| figure(row.shares().map(|shares| shares[who]), 2);
    let reaction = row.reaction;
    let seconds = |of: fn(&super::Reaction) -> Option<f64>| {
        let found = reaction.as_ref().map(of);
        found.map_or_else(String::new, |seconds| {
            seconds.map_or_else(|| "never".to_owned(), |seconds| format!("{seconds:.1}"))
        })
    };
    vec![
        row.cell.name.to_owned(),
        if reaction.is_some() { String::new() } else { mega(&row.auto_bps) },
        figure(row.beside_bps.map(|bps| bps / 1e6), 2),
        share(0),
        share(1),
        seconds(|it| it.down_s),
        seconds(|it| it.up_s),
        figure(reaction.map(|it| it.share_down), 2),
        figure(reaction.map(|it| it.share_up), 2),
        row.missed.join("; "),
    ]
}

/// With the limit, where there is one.
fn time(row: &RateRow) -> String {
    let took = row.auto_seconds.as_ref().map(milliseconds).unwrap_or_default();
    let limit = |limit: u32| format!("{took}, at most {limit}");
    let RateCell { limit_ms, .. } = row.cell;
    limit_ms.map_or_else(|| took.clone(), limit)
}

fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}

/// Nothing where there is none.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

/// In millions: three digits at least of what slow links carry.
fn mega(spread: &Spread) -> String {
    let digits = match spread.median {
        0.0..1e6 => 4,
        1e6..1e8 => 2,
        _ => 0,
    };
    let value = |value: f64| format!("{:.digits$}", value / 1e6);
    format!("{} ({} to {})", value(spread.median), value(spread.least), value(spread.most))
}

fn milliseconds(spread: &Spread) -> String {
    let value = |value: f64| format!("{:.0}", value * 1000.0);
    format!("{} ({} to {})", value(spread.median), value(spread.least), value(spread.most))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::rate::{Condition, RateSender, RateTransfer, Reaction};

    /// A row for each cell: `auto` takes 2 s, a told rate 1 s.
    pub(in crate::bench::rate) fn rows() -> Vec<RateRow> {
        let transfer = |cell: &RateCell, sender, seconds: f64| RateTransfer {
            cell: cell.name,
            sender,
            seconds: Some(seconds),
            goodput_bps: 8e6 / seconds,
            wire_per_file: Some(1.02),
            limited_by: Some("queue".to_owned()),
            beside_bps: match cell.condition {
                Condition::Beside { flows, .. } => vec![1e6; flows],
                _ => Vec::new(),
            },
            reaction: matches!(cell.condition, Condition::Change(_) | Condition::Comes(_))
                .then_some(Reaction {
                    down_s: Some(0.4),
                    up_s: None,
                    share_down: 0.9,
                    share_up: 0.5,
                }),
            why: String::new(),
        };
        let row = |cell: &RateCell| {
            let told = cell.told().first().map(|rate| transfer(cell, RateSender::Told(*rate), 1.0));
            let transfers: Vec<RateTransfer> =
                [transfer(cell, RateSender::Auto, 2.0)].into_iter().chain(told).collect();
            RateRow::of(cell, &transfers, cell.is_emulated().then_some(0.1))
        };
        RateCell::all().iter().map(row).collect()
    }

    fn text() -> String {
        markdown(&rows(), &Heading { repetitions: 1, version: "0" })
    }
    fn line(start: &str) -> String {
        let text = text();
        text.lines()
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("{start}"))
            .into()
    }

    #[test]
    fn each_row_has_a_field_for_each_column_of_its_table() {
        let text = text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        // Two tables, each with its names and a rule.
        assert_eq!(lines.len(), rows().len() + 4);
        let columns = |line: &str| line.matches('|').count() - 1;
        let of = |count: usize| lines.iter().filter(|line| columns(line) == count).count();
        assert_eq!(
            (of(COLUMNS.len()), of(SHARED.len())),
            (rows().len() - 10 + 2, 10 + 2),
            "{text}"
        );
    }

    #[test]
    fn a_row_tells_ratios_limits_and_goals() {
        let small = line("| small-1k |");
        assert!(small.contains("| 0.50 |") && small.contains("| time |"), "{small}");
        assert!(small.contains("| 2000 (2000 to 2000), at most 60 |"), "{small}");
        let emulated = line("| 56k-10ms-1-half-loss0.1 |");
        assert!(emulated.contains("| 0.1 % | 1 | 0.5 products | 35k |"), "{emulated}");
    }

    #[test]
    fn shares_and_reactions_have_a_table_of_their_own() {
        assert!(line("| change-100M |").contains("| 0.4 | never | 0.90 | 0.50 | up |"));
        assert!(
            line("| beside-100M-1 |").starts_with("| beside-100M-1 | 4.00 (4.00 to 4.00) | 1.00 |")
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [965_000, 1_500_000_000, 56_000, 12, 92_270_861].map(short);
        assert_eq!(shown, ["965k", "1.5G", "56k", "12", "92.27M"]);
    }

    #[test]
    fn the_machine_is_named_by_what_the_kernel_says() {
        assert_eq!(field("processor: 0\nmodel name\t: A B\n", "model name"), "A B");
        assert!(machine().contains(" processors (") && machine().contains(", Linux "));
    }
}
