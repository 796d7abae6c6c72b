//! Sends files and directories to a group: `cargo run --example send -- GROUP PATH...`
//!
//! GROUP is an address and a port such as `239.255.42.1:6003`; `norm://eth0;239.255.42.1:6003`
//! names the interface, too.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{env, error::Error, path::PathBuf};

use fanfare::{Network, SendOptions, Sources, Transfer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (Some(group), paths) = (args.next(), args.map(PathBuf::from).collect::<Vec<_>>()) else {
        return Err("usage: send GROUP PATH...".into());
    };
    println!("{} receivers have everything", send(&group, paths)?);
    Ok(())
}

/// Sends, waits for the end, and tells how many receivers have everything.
pub(crate) fn send(group: &str, paths: Vec<PathBuf>) -> Result<usize, Box<dyn Error>> {
    let network = Network::new(group.parse()?);
    let sources = Sources::of(paths)?;
    let transfer = Transfer::over(network).send(sources, SendOptions::default()).start()?;
    let report = transfer.finish().sent.ok_or("nothing was sent")?;
    Ok(report.complete())
}
