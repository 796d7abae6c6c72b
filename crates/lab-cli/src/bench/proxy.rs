//! `fanfare bench proxy`: `curl` over a bad road, by TCP and through the proxy.

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{ProxyBench, ProxyRun, Way};
use fanfare_sim::Table;

use super::lines::{end, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench proxy", "1 Mbit/s, 242 ms, three losses"),
    ("fanfare bench proxy --rate 10M --delay 300 --loss 1", "another road"),
])
.exits(&[
    (Exit::Done, "everything was measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a run was not whole"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")]);

/// Measure curl over a bad road, directly and through the proxy
///
/// Two emulated hosts, a road of one rate, delay and loss between them. 'curl' downloads for a while: by
/// TCP (CUBIC, BBR), and through 'fanfare proxy' by NORM and by QUIC. The start counts. This needs root,
/// curl, and fanfare-proxy beside fanfare.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ProxyBenchArgs {
    /// The road's rate
    #[arg(long, default_value = "1M", value_name = "RATE")]
    rate: String,
    /// Its delay one way, in milliseconds
    #[arg(long, default_value_t = 242, value_name = "MS", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    delay: u32,
    /// Its losses in each direction in percent, with commas
    #[arg(long, default_value = "0.1,1,10", value_delimiter = ',', value_name = "PERCENT")]
    loss: Vec<f64>,
    /// What is measured, with commas
    #[arg(
        long,
        default_value = "tcp-cubic,tcp-bbr,norm-auto,quic-cubic,quic-bbr",
        value_delimiter = ',',
        value_parser = ["tcp-cubic", "tcp-bbr", "norm-auto", "norm-fixed", "quic-cubic", "quic-bbr"],
        value_name = "WAY"
    )]
    ways: Vec<String>,
    /// Seconds of each run
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(21..=3600))]
    seconds: u32,
    /// How often each is measured
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ProxyBenchArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let mut tell = |run: &ProxyRun| {
        print(&output, "proxy", run);
        output.text(&line(run));
    };
    match bench.run(&stop, &mut tell) {
        Ok(runs) => conclude(&runs, &output),
        Err(error) => ended_early(&output, &error, &stop),
    }
}

fn way(name: &str) -> Way {
    match name {
        "tcp-cubic" => Way::Tcp("cubic"),
        "tcp-bbr" => Way::Tcp("bbr"),
        "norm-fixed" => Way::Norm("fixed"),
        "quic-cubic" => Way::Quic("cubic"),
        "quic-bbr" => Way::Quic("bbr"),
        // The command line takes no other name.
        _ => Way::Norm("auto"),
    }
}

impl ProxyBenchArgs {
    fn bench(&self) -> Result<ProxyBench, Failure> {
        if let Some(loss) = self.loss.iter().find(|loss| !(0.0..=90.0).contains(*loss)) {
            let text = format!("loss ({loss}): it is from 0 to 90 percent");
            return Err(Failure::usage("loss.invalid", text));
        }
        Ok(ProxyBench {
            rate: units::rate(&self.rate)?.as_bps(),
            delay_ms: self.delay,
            losses: self.loss.clone(),
            ways: self.ways.iter().map(|name| way(name)).collect(),
            seconds: self.seconds,
            repetitions: self.repetitions,
            fanfare: fanfare(),
        })
    }
}

fn line(run: &ProxyRun) -> String {
    let ProxyRun { way, loss, goodput_bps, steady_bps, first_s, why, .. } = run;
    let first = first_s.map_or_else(|| "-".to_owned(), |first| format!("{first:.1} s"));
    match why.is_empty() {
        true => format!(
            "{way}, {loss} % loss: {:.0} kbit/s, {:.0} after 20 s, first MB in {first}",
            goodput_bps / 1e3,
            steady_bps / 1e3
        ),
        false => format!("{way}, {loss} % loss: not whole: {why}"),
    }
}

fn conclude(runs: &[ProxyRun], output: &Output) -> Exit {
    let mut table = Table::new(&["way", "loss %", "kbit/s", "after 20 s", "first MB s", "whole"]);
    let mut cells: Vec<(f64, &str)> = Vec::new();
    for run in runs {
        if !cells.contains(&(run.loss, &run.way)) {
            cells.push((run.loss, &run.way));
        }
    }
    for (loss, way) in cells {
        let of_it = |run: &&ProxyRun| run.loss == loss && run.way == way;
        let all: Vec<&ProxyRun> = runs.iter().filter(of_it).collect();
        let whole: Vec<&&ProxyRun> = all.iter().filter(|run| run.why.is_empty()).collect();
        let kilo = |of: fn(&ProxyRun) -> f64| {
            format!("{:.0}", median(whole.iter().map(|run| of(run)).collect()) / 1e3)
        };
        let firsts: Vec<f64> = whole.iter().filter_map(|run| run.first_s).collect();
        table.row(vec![
            way.to_owned(),
            loss.to_string(),
            kilo(|run| run.goodput_bps),
            kilo(|run| run.steady_bps),
            if firsts.is_empty() { "-".to_owned() } else { format!("{:.1}", median(firsts)) },
            format!("{} of {}", whole.len(), all.len()),
        ]);
    }
    output.data(&table.to_string());
    end(runs.iter().all(|run| run.why.is_empty()), output)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
