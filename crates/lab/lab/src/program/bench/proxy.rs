//! `fanfare bench proxy`: `curl` over a bad road, by TCP and through the proxy.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{ProxyBench, ProxyRoad, ProxyRun, RoadPlan, Way, proxy_table};

use super::{
    lines::{end, print},
    made::Made,
};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench proxy", "1 Mbit/s, 242 ms, three losses"),
    ("fanfare bench proxy --road leo --seconds 60", "a satellite in a low orbit"),
    ("fanfare bench proxy --rate 10M --delay 300 --loss 1", "another road"),
])
.exits(&[
    (Exit::Done, "everything was measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a run was not whole"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing, or the page cannot be written"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[("--out FILE", "a page of results, in Markdown")])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")]);

/// A road with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Named {
    /// 1 Mbit/s, 242 ms, 0.1, 1 and 10 % loss
    Testbed,
    /// 10 Mbit/s down and 2 up, 300 ms, 0.1 and 1 % loss
    Geo,
    /// 50 Mbit/s down and 10 up, 25 ms, 0.5 % loss, a handover every 15 s
    Leo,
}

/// Measure curl over a bad road, directly and through the proxy
///
/// Two emulated hosts and a road between them. 'curl' downloads for a while: by TCP (CUBIC, BBR), and
/// through 'fanfare proxy' by NORM and by QUIC. 'native' is NORM without a proxy, by 'fanfare pipe'. The
/// start counts. In a handover nothing passes for 100 ms, and the delay is 10 ms more or less after it.
/// This needs root and curl.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ProxyBenchArgs {
    /// The road
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Named::Testbed)]
    road: Named,
    /// Another rate down, and up, than the road's
    ///
    /// Up it is that of --back, where that is given.
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Another rate up than the road's
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    back: Option<String>,
    /// Another delay one way, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    delay: Option<u32>,
    /// Other losses each way, in percent, with commas
    #[arg(long, value_delimiter = ',', value_name = "PERCENT")]
    loss: Vec<f64>,
    /// What is measured, with commas
    #[arg(
        long,
        default_value = "tcp-cubic,tcp-bbr,norm-auto,quic-cubic,quic-bbr",
        value_delimiter = ',',
        value_parser = [
            "tcp-cubic", "tcp-bbr", "native-auto", "native-ecn", "native-loss-tolerant", "native-norm",
            "norm-auto", "norm-auto-optimistic", "norm-ecn", "norm-loss-tolerant", "norm-norm", "norm-fixed", "quic-cubic",
            "quic-bbr"
        ],
        value_name = "WAY"
    )]
    ways: Vec<String>,
    /// Numbers of downloads at once, with commas
    #[arg(long, default_value = "1", value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    connections: Vec<u32>,
    /// Type keys by ssh, too, before and beside it
    ///
    /// This needs sshd and nc.
    #[arg(long, hide_short_help = true)]
    echo: bool,
    /// Load a page of 100 files in a browser before it
    ///
    /// This needs chromium and python3.
    #[arg(long, hide_short_help = true)]
    page: bool,
    /// Seconds of each run
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(21..=3600))]
    seconds: u32,
    /// How often each is measured
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// How many runs at once; fast roads take one
    #[arg(long, default_value_t = 1, value_name = "N", hide_short_help = true)]
    jobs: usize,
    /// Write a page of results to this file, such as results/proxy/leo.md
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    out: Option<PathBuf>,
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
    let made = Made::begin();
    let mut missing = |what: &str| output.text(what);
    let mut tell = |run: &ProxyRun| {
        print(&output, "proxy", run);
        output.text(&line(run));
    };
    match bench.run(&stop, &mut missing, &mut tell) {
        Ok(runs) => {
            let table = proxy_table(&runs);
            output.data(&table);
            if let Some(file) = &args.out
                && let Err(failure) = made.write(file, &page(&bench, &made, &runs, &table))
            {
                return fanfare_command::give_up(&output, &failure);
            }
            end(runs.iter().all(|run| run.why.is_empty()), &output)
        }
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl Named {
    const fn road(self) -> ProxyRoad {
        let (rate, back, delay_ms) = match self {
            Self::Testbed => (1_000_000, 1_000_000, 242),
            Self::Geo => (10_000_000, 2_000_000, 300),
            Self::Leo => (50_000_000, 10_000_000, 25),
        };
        ProxyRoad { rate, back, delay_ms, handovers: matches!(self, Self::Leo) }
    }

    const fn losses(self) -> &'static [f64] {
        match self {
            Self::Testbed => &[0.1, 1.0, 10.0],
            Self::Geo => &[0.1, 1.0],
            Self::Leo => &[0.5],
        }
    }
}

impl ProxyBenchArgs {
    fn bench(&self) -> Result<ProxyBench, Failure> {
        if let Some(loss) = self.loss.iter().find(|loss| !(0.0..=90.0).contains(*loss)) {
            let text = format!("loss ({loss}): it is from 0 to 90 percent");
            return Err(Failure::usage("loss.invalid", text));
        }
        let mut road = self.road.road();
        if let Some(rate) = &self.rate {
            road.rate = units::rate(rate)?.as_bps();
            road.back = road.rate;
        }
        if let Some(back) = &self.back {
            road.back = units::rate(back)?.as_bps();
        }
        road.delay_ms = self.delay.unwrap_or(road.delay_ms);
        let losses = if self.loss.is_empty() { self.road.losses() } else { &self.loss };
        let way = |name: &String| Way::ALL.into_iter().find(|way| way.key() == *name);
        Ok(ProxyBench {
            plan: RoadPlan {
                road,
                losses: losses.to_vec(),
                seconds: self.seconds,
                repetitions: self.repetitions,
                jobs: self.jobs,
                fanfare: fanfare(),
            },
            ways: self.ways.iter().filter_map(way).collect(),
            connections: self.connections.clone(),
            echo: self.echo,
            page: self.page,
        })
    }
}

fn line(run: &ProxyRun) -> String {
    let ProxyRun { way, loss, connections, seed, goodput_bps, steady_bps, first_s, why, .. } = run;
    let first = first_s.map_or_else(|| "-".to_owned(), |first| format!("{first:.1} s"));
    let told = match why.is_empty() {
        true => format!(
            "{:.0} kbit/s, {:.0} after 20 s, first MB in {first}",
            goodput_bps / 1e3,
            steady_bps / 1e3
        ),
        false => format!("not whole: {why}"),
    };
    format!("{way}, {loss} % loss, {connections} at once, seed {seed}: {told}")
}

/// The road, what the columns are, and the table.
fn page(bench: &ProxyBench, made: &Made, runs: &[ProxyRun], table: &str) -> String {
    let ProxyRoad { rate, back, delay_ms, handovers } = bench.plan.road;
    let rates = match rate == back {
        true => format!("{} Mbit/s", rate as f64 / 1e6),
        false => format!("{} Mbit/s down and {} up", rate as f64 / 1e6, back as f64 / 1e6),
    };
    let handovers = match handovers {
        true => {
            "Every 15 s nothing passes for 100 ms (packets wait), and then the\ndelay is 10 ms more or \
             less, within 10 ms of that. "
        }
        false => "",
    };
    let late = runs.iter().map(|run| run.late_p99_ms).fold(0.0, f64::max);
    format!(
        "# curl over a road of {rates}, {delay_ms} ms\n\n\
         *For readers of [proxy](../proxy.md).* {}\n\n\
         {rates}, {delay_ms} ms one way, loss in both directions, a drop-tail queue of one product of rate\n\
         and round trip. {handovers}Each run takes {} s, with its start. Seeds 1 to {}. Figures are \
         medians,\nand in brackets the least and the most.\n\n\
         `of NORM` is the rate after 20 s over that of a stream of NORM without a proxy (`fanfare pipe`) \
         with\nthe same control. `of CUBIC` and `of BBR` are whole runs over those of TCP, with as many \
         downloads.\n`of one` is all downloads at once over a single one. `whole` is how many runs were \
         whole.\n\n{table}\n\
         In the worst run one packet in a hundred was handed over more than {late:.1} ms late.\n",
        made.line(),
        bench.plan.seconds,
        bench.plan.repetitions
    )
}
