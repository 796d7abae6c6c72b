//! `fanfare monitor export` and `report`: what a monitor with --monitor-history has kept.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::json::Line;
use crate::{Exit, Failure, Help, Output, OutputArgs, give_up, print_line, units};
use clap::Args;
use fanfare_monitor::{
    client,
    history::{History, Point},
};
use serde_json::{Value, json};

const EXPORT: Help = Help::new(&[
    ("fanfare monitor export > hour.csv", "the last hour"),
    ("fanfare monitor export --last 24h --series node/base", "one node's last day"),
    ("fanfare monitor export --dir /var/lib/fanfare/history", "of a monitor that does not run"),
])
.exits(EXITS)
.files(FILES);

const REPORT: Help = Help::new(&[
    ("fanfare monitor report", "the last hour"),
    ("fanfare monitor report --last 24h --series link/", "all links' last day"),
])
.exits(EXITS)
.files(FILES);

const FILES: &[(&str, &str)] = &[
    ("--dir DIR", "what a monitor with --monitor-history has kept"),
    ("--token FILE", "what a page that is not on this machine asks for"),
];

const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "it was printed"),
    (Exit::Failed, "nothing was kept"),
    (Exit::Nobody, "no monitor with a history is at this address"),
];

/// Print what was measured, as CSV
///
/// Needs a monitor with --monitor-history. A line has the time (seconds since 1970), the seconds that
/// it is the mean of, the name and the value.
#[derive(Debug, Args)]
#[command(after_help = EXPORT.short(), after_long_help = EXPORT.long())]
pub struct ExportArgs {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    output: OutputArgs,
}

/// Sum up what was measured
///
/// Needs a monitor with --monitor-history. A line has the name, and the least, the mean, the highest
/// and the last value.
#[derive(Debug, Args)]
#[command(after_help = REPORT.short(), after_long_help = REPORT.long())]
pub struct ReportArgs {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Args)]
struct Wanted {
    /// How far back
    #[arg(long, value_name = "TIME", default_value = "1h")]
    last: String,
    /// Only names that begin so: node/, link/, path/, advice/, all/
    #[arg(long, value_name = "PREFIX", default_value = "")]
    series: String,
    /// Page of the monitor
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7979", conflicts_with = "dir")]
    at: String,
    /// File with the token of the page, where it needs one
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Directory of a history whose monitor does not run
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints points.
#[must_use]
pub fn export(args: &ExportArgs) -> Exit {
    let output = Output::new(args.output);
    let done = args.wanted.points().map(|points| {
        if output.is_json() {
            for point in &points {
                let (at, span, values) = (point.at, point.span, &point.values);
                output.event(&json!({"event": "point", "at": at, "span": span, "values": values}));
            }
        } else {
            print_line("at,span,series,value");
            points.iter().flat_map(csv).for_each(|line| print_line(&line));
        }
    });
    ended(done, &output)
}

/// Prints sums.
#[must_use]
pub fn report(args: &ReportArgs) -> Exit {
    let output = Output::new(args.output);
    let done = args.wanted.points().map(|points| {
        for (name, sum) in sums(&points) {
            let mean = sum.weighted / sum.seconds;
            output.event(&json!({
                "event": "series", "series": name, "least": sum.least, "mean": mean,
                "most": sum.most, "last": sum.last,
            }));
            let numbers =
                [sum.least, mean, sum.most, sum.last].map(|number| format!("{number:>14.3}"));
            output.data(&format!("{name:<48} {}", numbers.join(" ")));
        }
    });
    ended(done, &output)
}

fn ended(done: Result<(), Failure>, output: &Output) -> Exit {
    match done {
        Ok(()) => {
            output.event(&Line::early_result(Exit::Done as u8));
            Exit::Done
        }
        Err(failure) => give_up(output, &failure),
    }
}

impl Wanted {
    fn points(&self) -> Result<Vec<Point>, Failure> {
        let last = units::time("last", &self.last)?;
        let points = match &self.dir {
            Some(dir) => {
                let history = History::open_existing(dir).map_err(|error| {
                    let text = format!("dir ({error}). Name the directory of --monitor-history");
                    Failure::new(Exit::Failed, "monitor.history", text)
                })?;
                let now =
                    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                history.read(now.saturating_sub(last.as_secs()), now, &self.series)
            }
            None => self.asked(last)?,
        };
        if points.is_empty() {
            let text = format!(
                "series ({}): nothing of it was kept in the last {}. The first point is there after ten \
                 seconds",
                self.series, self.last
            );
            return Err(Failure::new(Exit::Failed, "monitor.empty", text));
        }
        Ok(points)
    }

    /// Of a monitor that runs.
    fn asked(&self, last: Duration) -> Result<Vec<Point>, Failure> {
        let silent = |why: String| {
            let text = format!(
                "at ({}): {why}. Start 'fanfare monitor --monitor-history DIR' there, or give --dir",
                self.at
            );
            Failure::new(Exit::Nobody, "monitor.silent", text)
        };
        let token = self.token.as_ref().map(crate::text_file::read).transpose();
        let token = token.map_err(|error| silent(format!("its token cannot be read ({error})")))?;
        let mut found = self.at.to_socket_addrs().into_iter().flatten();
        let server: SocketAddr =
            found.next().ok_or_else(|| silent("not an address with a port".to_owned()))?;
        let path = format!("/api/history?last={}&series={}", last.as_secs(), escaped(&self.series));
        let document = client::get(server, &path, token.as_deref().map(str::trim));
        let document = document.map_err(|error| silent(error.to_string()))?;
        Ok(document["points"].as_array().into_iter().flatten().filter_map(point).collect())
    }
}

fn point(told: &Value) -> Option<Point> {
    let values = told["values"].as_object()?;
    let values = values.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
    Some(Point { at: told["at"].as_u64()?, span: told["span"].as_u64()?, values: values.collect() })
}

/// For a query: what is not plain becomes its bytes.
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// A name may have come by the network: in quotes, and no formula for a spreadsheet.
fn csv(point: &Point) -> Vec<String> {
    let line = |(name, value): (&String, &f64)| {
        let name = name.replace('"', "\"\"");
        format!("{},{},\"{name}\",{value}", point.at, point.span)
    };
    point.values.iter().map(line).collect()
}

/// Of one name.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sum {
    least: f64,
    most: f64,
    last: f64,
    /// Values times their seconds: a mean of five minutes counts more than one of ten seconds.
    weighted: f64,
    seconds: f64,
}

fn sums(points: &[Point]) -> BTreeMap<&str, Sum> {
    let mut sums = BTreeMap::new();
    for point in points {
        let span = point.span as f64;
        for (name, value) in &point.values {
            let fresh =
                Sum { least: *value, most: *value, last: *value, weighted: 0.0, seconds: 0.0 };
            let sum: &mut Sum = sums.entry(&**name).or_insert(fresh);
            (sum.least, sum.most) = (sum.least.min(*value), sum.most.max(*value));
            (sum.last, sum.weighted) = (*value, sum.weighted + value * span);
            sum.seconds += span;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_weighs_means_by_their_spans_and_a_name_cannot_break_a_line() {
        let point =
            |at, span, value| Point { at, span, values: [("a\"b".to_owned(), value)].into() };
        let points = [point(0, 300, 1.0), point(300, 10, 32.0)];
        let sum = sums(&points)["a\"b"];
        assert_eq!((sum.least, sum.most, sum.last), (1.0, 32.0, 32.0));
        assert!((sum.weighted / sum.seconds - 2.0).abs() < 1e-9);
        assert_eq!(csv(&points[1]), ["300,10,\"a\"\"b\",32"]);
        assert_eq!(escaped("node/a b"), "node/a%20b");
    }
}
