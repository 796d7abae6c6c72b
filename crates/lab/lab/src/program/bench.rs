//! `fanfare bench`: how fast this machine is.

mod lines;
mod link;
mod made;
mod messages;
mod packets;
mod peer;
mod pipes;
mod proxy;
mod rate;
mod roads;
mod seal;
mod stamps;
mod streams;
mod throughput;
mod uplink;

use clap::{Args, Subcommand};
use fanfare_command::Exit;

/// Measure how fast this machine is
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Throughput(throughput::ThroughputArgs),
    Streams(pipes::PipesArgs),
    Packets(packets::PacketsArgs),
    Rate(rate::RateArgs),
    Roads(roads::RoadsArgs),
    Proxy(proxy::ProxyBenchArgs),
    Link(link::LinkBenchArgs),
    Uplink(uplink::UplinkArgs),
    Messages(messages::MessagesArgs),
    Stamps(stamps::StampsArgs),
    Seal(seal::SealArgs),
    #[command(hide = true)]
    MessagePeer(peer::PeerArgs),
}

pub(crate) fn run(args: &BenchArgs) -> Exit {
    match &args.what {
        What::Throughput(args) => throughput::run(args),
        What::Streams(args) => pipes::run(args),
        What::Packets(args) => packets::run(args),
        What::Rate(args) => rate::run(args),
        What::Roads(args) => roads::run(args),
        What::Proxy(args) => proxy::run(args),
        What::Link(args) => link::run(args),
        What::Uplink(args) => uplink::run(args),
        What::Messages(args) => messages::run(args),
        What::Stamps(args) => stamps::run(args),
        What::Seal(args) => seal::run(args),
        What::MessagePeer(args) => peer::run(args),
    }
}
