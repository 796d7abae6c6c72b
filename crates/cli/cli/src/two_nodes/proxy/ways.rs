//! Which way connections go, and what carries them: what a client and a gateway are both told.

use clap::ValueEnum;
use fanfare_command::Failure;
use fanfare_link::proxy::{Carrier, Optimism, Routes, Via};

use super::limits::rule;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum CarrierArg {
    /// One NORM session for all connections
    Norm,
    /// A stream of QUIC for each
    Quic,
}

impl From<CarrierArg> for Carrier {
    fn from(arg: CarrierArg) -> Self {
        match arg {
            CarrierArg::Norm => Self::Norm,
            CarrierArg::Quic => Self::Quic,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OptimismArg {
    /// Never
    Never,
    /// Where a round trip takes 100 ms or more, and the destination took a connection in the last minute
    Known,
    /// Always
    Always,
}

impl From<OptimismArg> for Optimism {
    fn from(arg: OptimismArg) -> Self {
        match arg {
            OptimismArg::Never => Self::Never,
            OptimismArg::Known => Self::Known,
            OptimismArg::Always => Self::Always,
        }
    }
}

/// The ways of `--route` and `--default`; without the latter all goes to the first peer.
pub(super) fn routes(
    route: &[String],
    default: Option<&str>,
    names: &[String],
) -> Result<Routes, Failure> {
    let way = |option: &str, text: &str| {
        // Every word is a way.
        let via = text.parse().unwrap_or(Via::Refuse);
        match &via {
            Via::Peer(peer) if !names.contains(peer) => {
                let text = format!("{option} ({peer}): there is no --peer of this name");
                Err(Failure::usage("route.invalid", text))
            }
            _ => Ok(via),
        }
    };
    let mut rules = Vec::new();
    for text in route {
        let Some((about, via)) = text.rsplit_once('=') else {
            let text = format!("route ({text}): write it as RULE=PEER, direct or refuse");
            return Err(Failure::usage("route.invalid", text));
        };
        rules.push((rule("route", about)?, way("route", via)?));
    }
    let default = match default {
        Some(text) => way("default", text)?,
        None => names.first().map_or(Via::Refuse, |name| Via::Peer(name.clone())),
    };
    Ok(Routes::new(rules, default))
}

/// `1024,10000`.
pub(super) fn connections(text: &str) -> Result<(usize, usize), Failure> {
    let most = || {
        let (each, all) = text.split_once(',')?;
        Some((each.parse().ok()?, all.parse().ok()?))
    };
    most().ok_or_else(|| {
        let text = format!("connections ({text}): write it as 1024,10000");
        Failure::usage("connections.invalid", text)
    })
}
