//! Sends a file, waits for named receivers, and prints a receipt from each:
//! `cargo run --example receipts -- GROUP FILE NAME...`

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{env, error::Error};

use fanfare::{
    Network, SendOptions, Sources, Transfer, TransferEvent,
    files::{Expect, SendEvent, event::Outcome},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (Some(group), Some(file)) = (args.next(), args.next()) else {
        return Err("usage: receipts GROUP FILE NAME...".into());
    };
    for (name, outcome) in send_to(&group, &file, args.collect())? {
        println!("{name}: {}", outcome.name());
    }
    Ok(())
}

/// Sends to the receivers of these names, and tells how it ended for each that was heard.
pub(crate) fn send_to(
    group: &str,
    file: &str,
    names: Vec<String>,
) -> Result<Vec<(String, Outcome)>, Box<dyn Error>> {
    let network = Network::new(group.parse()?);
    let options = SendOptions { expect: Expect::Names(names), ..Default::default() };
    let transfer = Transfer::over(network).send(Sources::of([file])?, options).start()?;
    for event in transfer.events() {
        if let TransferEvent::Send(SendEvent::Receipt(receipt)) = event {
            let (who, seconds) = (receipt.receiver.label(), receipt.elapsed.as_secs_f64());
            println!("{who} has {} after {seconds:.1} s", receipt.file);
        }
    }
    let report = transfer.finish().sent.ok_or("nothing was sent")?;
    Ok(report.receivers.into_iter().map(|one| (one.view.label(), one.outcome)).collect())
}
