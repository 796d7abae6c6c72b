//! The page of results that `bench messages` writes.

use fanfare_sim::Sorted;
use std::{collections::BTreeSet, fmt::Write as _};

use fanfare_lab::MessageRun;

/// What was measured where.
#[derive(Debug)]
pub(super) struct Head {
    /// The command.
    pub(super) command: String,
    /// Day, in UTC.
    pub(super) date: String,
    /// Load averages before and after.
    pub(super) load: [String; 2],
    /// Bytes of a message.
    pub(super) size: u64,
}

/// The page.
pub(super) fn page(head: &Head, runs: &[MessageRun]) -> String {
    let Head { command, date, load: [before, after], size } = head;
    let mut page = format!(
        "# Fast messages, beside other systems\n\n\
         *For readers who publish many short messages.* Written by `{command}` on {date}.\n\n\
         Messages of {size} bytes from one publisher, processes in network namespaces around a bridge of \
         one\nmachine. The load average was {before} before and {after} after: other work ran beside it. \
         `api` is\nthe library, `lines` is `pub --lines` with `sub`. NATS has `async-nats` and keeps \
         nothing. `zeromq-norm`\nis ZeroMQ on NRL's libnorm, `zeromq-fanfare` on ours. Where there are \
         several runs, the median stands\nbefore the least and the most.\n\n\
         ## As fast as it goes\n\nMessages a second at the slowest subscriber.\n\n"
    );
    speed(&mut page, runs);
    page.push_str(
        "\n## How soon\n\nFrom publication to delivery, in milliseconds, of the worst subscriber in the \
         worst run.\n\n| system | to | a second | loss | p50 | p99 | longest | came |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    latency(&mut page, runs);
    page
}

/// Systems in the order in which they were measured.
fn systems(runs: &[MessageRun]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for run in runs {
        if !names.contains(&run.system) {
            names.push(run.system);
        }
    }
    names
}

/// Of a cell as fast as it goes, in order; a run that was not whole counts by what is wrong with it.
fn rates(runs: &[MessageRun], system: &str, receivers: usize) -> Result<Sorted, String> {
    let of = runs.iter().filter(|r| (r.system, r.receivers, r.paced) == (system, receivers, 0));
    let mut rates = Vec::new();
    for run in of {
        match run.why.is_empty() {
            true => rates.push(run.per_second),
            false => return Err(run.why.clone()),
        }
    }
    Ok(rates.into_iter().collect())
}

fn speed(page: &mut String, runs: &[MessageRun]) {
    let counts: BTreeSet<usize> = runs.iter().map(|run| run.receivers).collect();
    let heads: String = counts.iter().map(|count| format!(" to {count} |")).collect();
    let rule = "---|".repeat(counts.len());
    let _ = writeln!(page, "| system |{heads}\n|---|{rule}");
    for system in systems(runs) {
        let cells = counts.iter().map(|count| match rates(runs, system, *count) {
            Ok(rates) => match (rates.median(), &rates[..]) {
                (Some(rate), [_]) => format!(" {} |", grouped(rate)),
                (Some(rate), [least, .., most]) => {
                    format!(" {} ({} to {}) |", grouped(rate), grouped(*least), grouped(*most))
                }
                _ => " not measured |".to_owned(),
            },
            Err(why) => format!(" FAILED: {why} |"),
        });
        let _ = writeln!(page, "| {system} |{}", cells.collect::<String>());
    }
    let ratio = |count: &usize| {
        let of = |system| rates(runs, system, *count).ok().and_then(|rates| rates.median());
        match (of("api"), of("nats")) {
            (Some(api), Some(nats)) if nats > 0.0 => format!(" {:.1} |", api / nats),
            _ => " not measured |".to_owned(),
        }
    };
    let _ = writeln!(page, "| api / nats |{}", counts.iter().map(ratio).collect::<String>());
}

fn latency(page: &mut String, runs: &[MessageRun]) {
    let mut told: Vec<(&str, usize, u64, f64)> = Vec::new();
    for run in runs.iter().filter(|run| run.paced > 0) {
        let cell = (run.system, run.receivers, run.paced, run.loss);
        if told.contains(&cell) {
            continue;
        }
        told.push(cell);
        let same = runs.iter().filter(|r| (r.system, r.receivers, r.paced, r.loss) == cell);
        let (mut worst, mut came, mut published) = ([0.0_f64; 3], u64::MAX, 0);
        for run in same {
            (came, published) = (came.min(run.delivered), run.published);
            for (worst, figure) in worst.iter_mut().zip(run.latency_ms.unwrap_or_default()) {
                *worst = worst.max(figure);
            }
        }
        let [p50, p99, longest] = worst;
        let (system, receivers, paced, loss) = cell;
        let _ = writeln!(
            page,
            "| {system} | {receivers} | {paced} | {loss} % | {p50:.2} | {p99:.2} | {longest:.1} | \
             {came} of {published} |"
        );
    }
}

/// With commas between thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(system: &'static str, paced: u64, per_second: f64, why: &str) -> MessageRun {
        MessageRun {
            system,
            receivers: 3,
            paced,
            loss: 0.0,
            delivered: 10,
            published: 10,
            per_second,
            latency_ms: (paced > 0).then_some([0.25, 0.5, per_second]),
            why: why.to_owned(),
        }
    }

    #[test]
    fn the_page_has_medians_of_what_was_whole_and_the_worst_latency() {
        let head = Head {
            command: "bench messages".to_owned(),
            date: "2026-01-02".to_owned(),
            load: ["0.1".to_owned(), "0.2".to_owned()],
            size: 100,
        };
        let runs = [
            run("api", 0, 3_000_000.0, ""),
            run("api", 0, 1_000_000.0, ""),
            run("api", 0, 2_000_000.0, ""),
            run("nats", 0, 500_000.0, ""),
            run("jgroups", 0, 7.0, "9 of 10 came"),
            run("api", 200, 4.0, ""),
            run("api", 200, 8.0, ""),
        ];
        let page = page(&head, &runs);
        for line in [
            "| api | 2,000,000 (1,000,000 to 3,000,000) |",
            "| jgroups | FAILED: 9 of 10 came |",
            "| api / nats | 4.0 |",
            "| api | 3 | 200 | 0 % | 0.25 | 0.50 | 8.0 | 10 of 10 |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }
}
