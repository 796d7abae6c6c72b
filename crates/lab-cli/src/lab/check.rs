//! `fanfare lab check`: how exact the laboratory is on this machine.

use clap::Args;
use fanfare_lab::{Check, Throughput, Verdict};

use fanfare_command::{Exit, Failure, Output, OutputArgs, units};

use super::lines;
use crate::ending::{failure, give_up};

/// Measure how exact rates, delays and losses are on this machine
///
/// Fails when a figure is not as docs/reference/laboratory.md publishes it. A busy machine voids cells: run it
/// again when it is quiet.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// How long each of the five cells sends
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Instead measure whether this much is carried to a group of three over 5 % loss and 20 ms
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
