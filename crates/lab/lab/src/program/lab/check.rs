//! `fanfare lab check`: how exact the laboratory is on this machine.

use clap::Args;
use fanfare_lab::{Check, Throughput, Verdict};

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};

use super::lines;
use crate::ending::{EXITS, failure, give_up};

const HELP: Help = Help::new(&[
    ("fanfare lab check", "takes about a minute"),
    ("fanfare lab check --throughput 200M", "does it carry 200 Mbit/s?"),
])
.exits(EXITS)
.files(super::FILES);

/// Measure how exact rates, delays and losses are on this machine
///
/// Fails if a figure is not as exact as docs/reference/laboratory.md says. On a busy machine some
/// cells are void: run it again when the machine is quiet.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct CheckArgs {
    /// How long each of the five cells sends
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Instead, check that this rate is carried to three hosts, with 5 % loss and 20 ms
    #[arg(long, value_name = "RATE")]
    throughput: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &CheckArgs) -> Exit {
    let output = Output::new(args.output);
    output.spin(String::from("measuring"));
    if let Some(rate) = &args.throughput {
        let carried = units::rate(rate).and_then(|rate| {
            let throughput = Throughput { rate: rate.as_bps() as f64, seconds: args.seconds };
            throughput.run().map_err(|error| failure(&error))
        });
        return match carried {
            Ok(carried) => lines::carried(&carried, &output),
            Err(failure) => fanfare_command::give_up(&output, &failure),
        };
    }
    let mut cells = 0;
    let verdict = Check { seconds: args.seconds }.run(&mut |accuracy| {
        cells += 1;
        lines::accuracy(accuracy, &output);
    });
    let refuse =
        |code, text| fanfare_command::give_up(&output, &Failure::new(Exit::Failed, code, text));
    match verdict {
        Ok(Verdict::Kept) => {
            lines::Ended::new(cells).print(&output, "cells as published");
            Exit::Done
        }
        Ok(Verdict::Void) => refuse(
            "lab.void",
            "laboratory (): the machine was too busy, some cells are void. Run it again when it \
             is quiet",
        ),
        Ok(Verdict::Missed) => refuse(
            "lab.inexact",
            "laboratory (): some cells are not as exact as published. Do not trust figures of \
             this machine",
        ),
        Err(error) => give_up(&output, &error),
    }
}
