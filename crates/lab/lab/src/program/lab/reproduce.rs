//! `fanfare lab reproduce`: the papers' tables again, with the real peers.
//!
//! - `options`: what all experiments are asked alike
//! - `transfers`: files; `company`: messages between many; `tactical`: a slow, bad link to the sender
//! - `links`: kinds of links; `scale`, `cost`: what monitors cost, simulated and with real nodes
//! - `latency`: round trips that change; `adapt`: a sender that a monitor advises
//! - `unicast`: protocols between two hosts; `p3`: what a link says of its rate
//! - `islands`: a file to islands that relays join
//! - `video`: video to a group; `imaging`: who is to blame when machines are late
//! - `plot`: the tables of transfers as pictures
//! - `stage`, `running`, `page_of`, `flow`: a lab, a program of ours in it, its page, and a TCP flow, for
//!   those that drive them here

mod adapt;
mod company;
mod cost;
mod harness;
mod imaging;
mod islands;
mod latency;
mod links;
mod options;
mod p3;
mod plot;
mod scale;
mod stage;
mod tactical;
mod transfers;
mod unicast;
mod video;

use fanfare_command::{Exit, Output};

pub(crate) use options::ReproduceArgs;

pub(super) fn run(args: &ReproduceArgs) -> Exit {
    let output = Output::new(args.output);
    match args.name.as_str() {
        adapt::NAME => adapt::run(args, &output),
        cost::NAME => cost::run(args, &output),
        company::NAME => company::run(args, &output),
        harness::NAME => harness::run(args, &output),
        imaging::NAME => imaging::run(args, &output),
        islands::NAME => islands::run(args, &output),
        tactical::NAME => tactical::run(args, &output),
        links::NAME => links::run(args, &output),
        scale::NAME => scale::run(args, &output),
        latency::NAME => latency::run(args, &output),
        p3::NAME => p3::run(args, &output),
        unicast::NAME | unicast::DYNAMIC => unicast::run(args, &output),
        video::NAME => video::run(args, &output),
        _ => transfers::run(args, &output),
    }
}
