//! `fanfare lab reproduce`: the papers' tables again, with the real peers.
//!
//! - `options`: what all experiments are asked alike
//! - `transfers`: files; `company`: messages between many; `tactical`: a slow, bad link to the sender
//! - `links`: kinds of links; `scale`: what monitors cost
//! - `unicast`: protocols between two hosts; `p3`: what a link says of its rate
//! - `islands`: a file to islands that relays join
//! - `video`: video to a group
//! - `plot`: the tables of transfers as pictures

mod company;
mod harness;
mod islands;
mod links;
mod options;
mod p3;
mod plot;
mod scale;
mod tactical;
mod transfers;
mod unicast;
mod video;

use fanfare_command::{Exit, Output};

pub(crate) use options::ReproduceArgs;

pub(super) fn run(args: &ReproduceArgs) -> Exit {
    let output = Output::new(args.output);
    match args.name.as_str() {
        company::NAME => company::run(args, &output),
        harness::NAME => harness::run(args, &output),
        islands::NAME => islands::run(args, &output),
        tactical::NAME => tactical::run(args, &output),
        links::NAME => links::run(args, &output),
        scale::NAME => scale::run(args, &output),
        p3::NAME => p3::run(args, &output),
        unicast::NAME | unicast::DYNAMIC => unicast::run(args, &output),
        video::NAME => video::run(args, &output),
        _ => transfers::run(args, &output),
    }
}
