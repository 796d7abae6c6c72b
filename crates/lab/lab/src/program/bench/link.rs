//! `fanfare bench link`: how soon messages of a link are there.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{LinkBench, LinkRun, ProxyRoad, RoadPlan, Way, link_table};

use super::{
    lines::{end, print},
    made::Made,
};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench link", "512 kbit/s, 250 ms, four losses"),
    ("fanfare bench link --rate 10M --back 2M --delay 300 --loss 1", "another road"),
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

/// Measure how soon messages of a link arrive over a bad road
///
/// Two emulated hosts and a road between them. 'fanfare link send' sends a message four times a second to
/// 'fanfare link recv', in each class: reliable or unreliable (r, u), sequenced or not (s, u). Then 20
/// requests are answered, one after another. All of it once alone, and once beside a download by the proxy.
/// This needs root and curl.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct LinkBenchArgs {
    /// The road's rate down, and up unless --back says so
    #[arg(long, default_value = "512k", value_name = "RATE")]
    rate: String,
    /// Another rate up
    #[arg(long, value_name = "RATE")]
    back: Option<String>,
    /// Its delay one way, in milliseconds
    #[arg(long, default_value_t = 250, value_name = "MS", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    delay: u32,
    /// A handover every 15 s, as of satellites in low orbits
    #[arg(long)]
    handovers: bool,
    /// Its losses in each direction in percent, with commas
    #[arg(long, default_value = "0,5,10,15", value_delimiter = ',', value_name = "PERCENT")]
    loss: Vec<f64>,
    /// Classes of messages, with commas
    #[arg(long, default_value = "rs,ru,us,uu", value_delimiter = ',', value_parser = ["rs", "ru", "us", "uu"], value_name = "CLASS")]
    classes: Vec<String>,
    /// What is downloaded beside them, with commas
    #[arg(long, default_value = "nothing,norm-auto", value_delimiter = ',', value_parser = ["nothing", "norm-auto", "quic-cubic", "tcp-cubic", "tcp-bbr"], value_name = "WAY")]
    beside: Vec<String>,
    /// Bytes of a message
    #[arg(long, default_value_t = 200, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(16..=1000))]
    size: u16,
    /// Seconds of messages of each run
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// How often each is measured
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// How many runs at once; fast roads take one
    #[arg(long, default_value_t = 8, value_name = "N", hide_short_help = true)]
    jobs: usize,
    /// Write a page of results to this file, such as results/unicast/link.md
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &LinkBenchArgs) -> Exit {
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
    let mut tell = |run: &LinkRun| {
        print(&output, "link", run);
        output.text(&line(run));
    };
    match bench.run(&stop, &mut tell) {
        Ok(runs) => {
            let table = link_table(&runs);
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

impl LinkBenchArgs {
    fn bench(&self) -> Result<LinkBench, Failure> {
        if let Some(loss) = self.loss.iter().find(|loss| !(0.0..=90.0).contains(*loss)) {
            let text = format!("loss ({loss}): it is from 0 to 90 percent");
            return Err(Failure::usage("loss.invalid", text));
        }
        let rate = units::rate(&self.rate)?.as_bps();
        let back = self.back.as_deref().map(units::rate).transpose()?;
        let back = back.map_or(rate, |back| back.as_bps());
        let way = |name: &String| Way::ALL.into_iter().find(|way| way.key() == *name);
        let class =
            |name: &String| ["rs", "ru", "us", "uu"].into_iter().find(|class| class == name);
        Ok(LinkBench {
            plan: RoadPlan {
                road: ProxyRoad { rate, back, delay_ms: self.delay, handovers: self.handovers },
                losses: self.loss.clone(),
                seconds: self.seconds,
                repetitions: self.repetitions,
                jobs: self.jobs,
                fanfare: fanfare(),
            },
            classes: self.classes.iter().filter_map(class).collect(),
            beside: self.beside.iter().map(way).collect(),
            size: self.size.into(),
        })
    }
}

fn line(run: &LinkRun) -> String {
    let LinkRun { class, loss, beside, seed, sent, took_ms, why, .. } = run;
    let beside = if beside.is_empty() { "nothing" } else { beside };
    let told = if why.is_empty() { String::new() } else { format!(", not whole: {why}") };
    format!(
        "{class}, {loss} % loss beside {beside}, seed {seed}: {} of {sent} came{told}",
        took_ms.len()
    )
}

fn page(bench: &LinkBench, made: &Made, runs: &[LinkRun], table: &str) -> String {
    let ProxyRoad { rate, back, delay_ms, handovers } = bench.plan.road;
    let rates = match rate == back {
        true => format!("{} kbit/s", rate / 1000),
        false => format!("{} kbit/s down and {} up", rate / 1000, back / 1000),
    };
    let handovers = if handovers { ", with a handover every 15 s" } else { "" };
    let late = runs.iter().map(|run| run.late_p99_ms).fold(0.0, f64::max);
    format!(
        "# Messages of a link over {rates}, {delay_ms} ms\n\n\
         *For readers of [unicast](../unicast.md).* {}\n\n\
         {rates}, {delay_ms} ms one way, loss in both directions{handovers}. Messages of {} bytes go down, \
         one\nevery 250 ms for {} s, seeds 1 to {}. The time is from a line written to `fanfare link send` \
         until\n`fanfare link recv` has written it. `rs` is reliable and sequenced, `ru` reliable, `us` \
         sequenced\nand not reliable, `uu` neither. Not reliable ones that were lost are not in the \
         figures. The first\nmessage is sent when the program starts: the handshake is in its time. \
         `warm` is the first one of a\nprogram that is started anew, by a ticket of the one before. \
         Downloads beside it go down, too.\n\n{table}\n\
         In the worst run one packet in a hundred was handed over more than {late:.1} ms late.\n",
        made.line(),
        bench.size,
        bench.plan.seconds,
        bench.plan.repetitions
    )
}
