//! Several streams of one process beside one alone, shown.

use fanfare_lab::StreamsResult;
use fanfare_sim::Table;

use super::lines::{end, mega, print};
use fanfare_command::{Exit, Output};

pub(super) fn conclude(together: &StreamsResult, output: &Output) -> Exit {
    print(output, "together", together);
    output.data(&table(together).to_string());
    if !together.why.is_empty() {
        output.text(&format!("not complete: {}", together.why));
    }
    end(together.complete[0] > 0, output)
}

fn table(together: &StreamsResult) -> Table {
    let mut table = Table::new(&[
        "streams",
        "told",
        "sum",
        "Jain",
        "least",
        "most",
        "one",
        "ratio",
        "started",
        "s/GB send",
        "s/GB recv",
        "MB send",
        "MB one",
        "complete",
    ]);
    table.row([
        together.streams.to_string(),
        mega(together.rate_bps[0] as f64),
        mega(together.sum_bps),
        format!("{:.4}", together.jain),
        mega(together.range_bps[0]),
        mega(together.range_bps[1]),
        mega(together.one_bps),
        format!("{:.3}", together.ratio),
        format!("{:.3}", together.ratio_started),
        format!("{:.2}", together.cpu_per_gb[0]),
        format!("{:.2}", together.cpu_per_gb[1]),
        mega(together.memory[0] as f64),
        mega(together.memory[1] as f64),
        format!("{} of {}", together.complete[0], together.complete[1]),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let together = StreamsResult {
            streams: 10,
            rate_bps: [8_000_000_000, 14_000_000_000],
            sum_bps: 5e9,
            range_bps: [4.9e8, 5.1e8],
            jain: 0.99987,
            one_bps: 10e9,
            ratio: 0.5,
            ratio_started: 0.6,
            cpu_per_gb: [0.5, 0.6],
            memory: [40_000_000, 12_000_000],
            complete: [3, 3],
            why: String::new(),
        };
        let text = table(&together).to_string();
        let columns = |line: &str| line.split("  ").filter(|cell| !cell.is_empty()).count();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((columns(lines[0]), columns(lines[1])), (14, 14), "{text}");
        assert!(lines[1].contains("0.9999") && lines[1].contains("0.500"), "{text}");
    }
}
