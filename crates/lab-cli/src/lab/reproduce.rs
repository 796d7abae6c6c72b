//! `fanfare lab reproduce`: the papers' tables again, with the real peers.
//!
//! - `options`: what all experiments are asked alike
//! - `transfers`: files; `company`: messages between many; `tactical`: a slow, bad link to the sender
//! - `unicast`: protocols between two hosts
//! - `plot`: the tables of transfers as pictures

mod company;
mod options;
mod plot;
mod tactical;
mod transfers;
mod unicast;

use fanfare_command::{Exit, Output};

pub(crate) use options::ReproduceArgs;

pub(super) fn run(args: &ReproduceArgs) -> Exit {
    let output = Output::new(args.output);
    match args.name.as_str() {
        company::NAME => company::run(args, &output),
        tactical::NAME => tactical::run(args, &output),
        unicast::NAME => unicast::run(args, &output),
        _ => transfers::run(args, &output),
    }
}
