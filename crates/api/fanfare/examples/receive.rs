//! Receives what one sender sends, and shows how far it is:
//! `cargo run --example receive -- GROUP DIRECTORY`

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{env, error::Error, path::Path};

use fanfare::{
    Network, ReceiveOptions, Transfer, TransferEvent,
    files::{ReceiveEvent, Until},
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [group, directory] = &args[..] else {
        return Err("usage: receive GROUP DIRECTORY".into());
    };
    let files = receive(group, Path::new(directory))?;
    println!("{} files", files.len());
    Ok(())
}

/// Receives until the sender says good-bye; gives the names of the files.
pub(crate) fn receive(group: &str, directory: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let network = Network::new(group.parse()?);
    let options =
        ReceiveOptions { create_dirs: true, until: Until::SenderEnded, ..Default::default() };
    let transfer = Transfer::over(network).receive(directory, options).start()?;
    let mut files = Vec::new();
    for event in transfer.events() {
        match event {
            TransferEvent::Receive(ReceiveEvent::Progress(progress)) => {
                println!("{} bytes, {:.1} % lost", progress.bytes, 100.0 * progress.loss);
            }
            // It is whole, verified, synced to disk and under its final name.
            TransferEvent::Receive(ReceiveEvent::File { placed, .. }) => {
                println!("{}: {} bytes", placed.name, placed.size);
                files.push(placed.name.to_string());
            }
            _ => {}
        }
    }
    Ok(files)
}
