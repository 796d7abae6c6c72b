//! `fanfare bench stamps`: where a message's time goes on a local network.

use clap::Args;
use fanfare_command::{Exit, Help, Output, OutputArgs};
use fanfare_lab::Delays;
use fanfare_sim::Table;

use super::lines::{end, print};
use crate::ending::give_up;

const HELP: Help = Help::new(&[
    ("fanfare bench stamps", "idle and busy processors"),
    ("fanfare bench stamps --json", "for programs"),
])
.exits(&[(Exit::Done, "measured"), (Exit::Permission, "root is needed")]);

/// Measure where a message's time goes on a local network
///
/// 3000 messages go from one network namespace to another, one each millisecond: first on idle
/// processors, then while two processes for each processor count in a loop. The table has
/// microseconds: from the sender's stamp to its kernel, over the network, and from the receiver's kernel
/// to its process. This needs root.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct StampsArgs {
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &StampsArgs) -> Exit {
    let output = Output::new(args.output);
    let measured = match fanfare_lab::stamps() {
        Ok(measured) => measured,
        Err(error) => return give_up(&output, &error),
    };
    let mut table = Table::new(&["processors", "part", "p50 µs", "p99 µs", "max µs"]);
    for row in &measured {
        print(&output, "stamps", row);
        let parts = [
            ("stamp to kernel", row.sending),
            ("network", row.network),
            ("kernel to process", row.receiving),
            ("all", row.whole),
        ];
        for (part, Delays { p50, p99, max }) in parts {
            let figures = [p50, p99, max].map(|figure| format!("{figure:.0}"));
            table.row([&[row.condition.to_owned(), part.to_owned()][..], &figures].concat());
        }
    }
    output.data(&table.to_string());
    end(true, &output)
}
