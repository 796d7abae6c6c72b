//! `fanfare bench messages`: how many short messages reach all subscribers, and how soon.

mod page;

use std::{path::PathBuf, process::Command};

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{MessageBench, MessageRun, MessageSystem};
use fanfare_sim::Table;

use super::{
    lines::{end, print},
    made::load,
};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench messages", "to one, three and ten subscribers"),
    ("fanfare bench messages --receivers 3 --systems api,nats", "the library beside NATS"),
])
.exits(&[
    (Exit::Done, "everything was measured, and every message came"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a message did not come"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "the page cannot be written"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[("--out FILE", "a page of results, in Markdown")])
.environment(&[
    ("FANFARE_BIN", "another build of fanfare to be measured"),
    ("FANFARE_LIBNORM", "our libnorm.so, if it is not beside this program"),
]);

/// Whose messages.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Choice {
    /// Members of a group, by the library
    Api,
    /// 'fanfare pub --lines' and 'fanfare sub'
    Lines,
    /// NATS with its Rust client, where this build has it
    Nats,
    /// Mosquitto at QoS 0 with its own commands
    Mosquitto,
    /// ZeroMQ over TCP
    ZeromqTcp,
    /// ZeroMQ over NORM, on NRL's library; 5,000 messages at most
    ZeromqNorm,
    /// ZeroMQ over NORM, on our libnorm.so.1
    ZeromqFanfare,
    /// JGroups over UDP
    Jgroups,
}

/// Measure how many short messages reach all subscribers, and how soon
///
/// One publisher and its subscribers are processes in network namespaces around a bridge of this machine.
/// Systems that are not installed are left out. The first row of each system is as fast as it goes, the
/// others tell the latency at a set rate. This needs root.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct MessagesArgs {
    /// Numbers of subscribers, with commas
    #[arg(long, default_value = "1,3,10", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=100))]
    receivers: Vec<u16>,
    /// Systems, with commas [default: all]
    #[arg(
        long,
        value_enum,
        hide_default_value = true,
        default_value = "api,lines,nats,mosquitto,zeromq-tcp,zeromq-norm,zeromq-fanfare,jgroups",
        value_delimiter = ','
    )]
    systems: Vec<Choice>,
    /// Messages of a row that is as fast as it goes
    #[arg(long, default_value_t = 300_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Bytes of a message
    #[arg(long, default_value_t = 100, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(16..=1000))]
    size: u64,
    /// Messages a second of the rows that tell the latency, with commas
    #[arg(long, default_value = "200,2000", value_name = "RATES", value_delimiter = ',')]
    paced: Vec<u64>,
    /// Messages of such a row
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    timed: u64,
    /// Per cent of packets that each member of the group loses in one more row for each rate
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", hide_short_help = true)]
    loss: f64,
    /// Rate that Fanfare is told
    #[arg(long, default_value = "2G", value_name = "RATE", allow_hyphen_values = true)]
    rate: String,
    /// How often each is measured
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Write a page of results to this file, such as results/messages.md
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &MessagesArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    for (system, program) in bench.missing() {
        output.text(&format!("{} is left out: {program} is not installed", system.name()));
    }
    let mut tell = |run: &MessageRun| print(&output, "messages", run);
    let mut without = |what: &str| output.text(what);
    let before = load();
    match bench.run(&stop, &mut tell, &mut without) {
        Ok(runs) => {
            output.data(&table(&runs).to_string());
            if let Some(file) = &args.out {
                let text = page::page(&args.head([before, load()]), &runs);
                if let Err(error) = std::fs::write(file, text) {
                    let text = format!("out ({}): {error}. Choose another", file.display());
                    let failure = Failure::new(Exit::Resource, "out", text);
                    return fanfare_command::give_up(&output, &failure);
                }
            }
            end(runs.iter().all(|run| run.why.is_empty()), &output)
        }
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl MessagesArgs {
    fn head(&self, load: [String; 2]) -> page::Head {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let date = Command::new("date").args(["-u", "+%F"]).output();
        let date = date.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
        page::Head {
            command: format!("fanfare-lab {}", words.join(" ")),
            date: date.unwrap_or_default(),
            load,
            size: self.size,
        }
    }

    fn bench(&self) -> Result<MessageBench, Failure> {
        let peer = std::env::current_exe()
            .map_err(|error| Failure::new(Exit::Failed, "system", error.to_string()))?;
        let systems = self.systems.iter().filter_map(|choice| match choice {
            Choice::Api => Some(MessageSystem::Api),
            Choice::Lines => Some(MessageSystem::Lines),
            Choice::Nats => cfg!(feature = "nats").then_some(MessageSystem::Nats),
            Choice::Mosquitto => Some(MessageSystem::Mosquitto),
            Choice::ZeromqTcp => Some(MessageSystem::ZeromqTcp),
            Choice::ZeromqNorm => Some(MessageSystem::ZeromqNorm),
            Choice::ZeromqFanfare => Some(MessageSystem::ZeromqFanfare),
            Choice::Jgroups => Some(MessageSystem::Jgroups),
        });
        Ok(MessageBench {
            systems: systems.collect(),
            receivers: self.receivers.iter().map(|count| usize::from(*count)).collect(),
            messages: self.messages,
            size: self.size as usize,
            rates: self.paced.clone(),
            timed: self.timed,
            loss: self.loss,
            rate: units::rate(&self.rate)?.as_bps(),
            repetitions: self.repetitions,
            fanfare: fanfare(),
            peer: (peer, ["bench", "message-peer"].map(str::to_owned).to_vec()),
        })
    }
}

fn table(runs: &[MessageRun]) -> Table {
    let columns =
        ["system", "to", "paced", "loss %", "msg/s", "p50 ms", "p99 ms", "max ms", "came"];
    let mut table = Table::new(&columns);
    for run in runs {
        let latency = |at: usize| match run.latency_ms {
            // At full rate it is the queue's length.
            Some(figures) if run.paced > 0 => format!("{:.2}", figures[at]),
            _ => "-".to_owned(),
        };
        let paced = if run.paced == 0 { "-".to_owned() } else { run.paced.to_string() };
        table.row([
            run.system.to_owned(),
            run.receivers.to_string(),
            paced,
            format!("{}", run.loss),
            format!("{:.0}", run.per_second),
            latency(0),
            latency(1),
            latency(2),
            format!("{} of {}", run.delivered, run.published),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_as_fast_as_it_goes_tells_no_latency() {
        let run = |paced| MessageRun {
            system: "api",
            receivers: 3,
            paced,
            loss: 0.0,
            delivered: 10,
            published: 10,
            per_second: 1234.5,
            latency_ms: Some([0.25, 0.5, 1.0]),
            why: String::new(),
        };
        let text = table(&[run(0), run(200)]).to_string();
        assert_eq!(text.matches("0.25").count(), 1, "{text}");
    }
}
