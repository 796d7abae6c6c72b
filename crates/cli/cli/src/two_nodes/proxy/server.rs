//! `fanfare proxy server`: the far side.

use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_link::proxy::{Far, FarOptions, Peering, Policy};

use super::{
    compat::{self, CompatArgs},
    limits::{raise_descriptors, rule},
    sending::{SendingArgs, peerings_status},
    telling,
};
use crate::two_nodes::{
    EXITS,
    link::{AcceptArgs, NodeArgs, follow, links_status, tell_listening},
    running::{Asked, Signals},
    status::{self, SocketArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare proxy server --accept ship=KEY --allow 10.20.0.0/16", "one network"),
    ("fanfare proxy server --accept ship=KEY --allow any:443", "HTTPS everywhere"),
    ("fanfare proxy server --accept-file peers --allow .lan", "all names of a domain"),
])
.exits(EXITS)
.files(&[
    ("~/.config/fanfare/identity", "this machine's key pair, without --identity"),
    ("--accept-file FILE", "names and keys of nodes, a line each"),
])
.values();

/// Connect to destinations for nodes that link to this one
///
/// Without --allow every destination is refused. Loopback, link-local and this machine's own
/// addresses are refused even with '--allow any', unless a rule names them.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ServerArgs {
    #[command(flatten)]
    accepting: AcceptArgs,
    /// What may be connected to: HOST, .domain, PREFIX or any, and :PORTS. May be given several times
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// What may not, whatever is allowed. May be given several times
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Wait so long for a destination's answer
    #[arg(long, value_name = "TIME", default_value = "15s", hide_short_help = true)]
    connect_timeout: String,
    /// Most connections of a node at once
    #[arg(long, value_name = "N", default_value_t = 10_000, hide_short_help = true)]
    connections: usize,
    /// Tell in events where connections go
    #[arg(long, hide_short_help = true)]
    log_destinations: bool,
    #[command(flatten)]
    compat: CompatArgs,
    #[command(flatten)]
    sending: SendingArgs,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl ServerArgs {
    fn options(&self, output: &Arc<Output>) -> Result<FarOptions, Failure> {
        let rules = |option: &str, texts: &[String]| {
            texts.iter().map(|text| rule(option, text)).collect::<Result<Vec<_>, _>>()
        };
        // norp has no keys.
        let own = if self.compat.is_nrl() { [0; 32] } else { self.node.key()?.0 };
        Ok(FarOptions {
            policy: Policy {
                allow: rules("allow", &self.allow)?,
                deny: rules("deny", &self.deny)?,
            },
            connect_timeout: units::time("connect-timeout", &self.connect_timeout)?,
            connections_max: self.connections,
            descriptors: raise_descriptors(),
            listener: telling::listener(output, self.log_destinations),
            ..FarOptions::new(own)
        })
    }
}

pub(super) async fn run(args: &ServerArgs, output: Output) -> Result<Exit, Failure> {
    let (output, mut signals) = (Arc::new(output), Signals::install()?);
    let far = Far::new(args.options(&output)?);
    if args.compat.is_nrl() {
        return run_norp(args, &far, &output, signals).await;
    }
    let node = args.node.start(args.accepting.listen, args.accepting.all()?)?;
    if args.allow.is_empty() {
        output.warn("allow.missing", "nothing may be connected to: give --allow RULE");
    }
    if let Ok(address) = node.address() {
        tell_listening(&output, "link", address);
    }
    let (sending, own) = (args.sending.sending()?, args.node.key()?.0);
    let peerings: Arc<Mutex<Vec<Arc<Peering>>>> = Arc::default();
    let told = (node.clone(), peerings.clone());
    status::serve(&args.socket, move || {
        let mut status = links_status(&told.0);
        let peerings = told.1.lock().unwrap_or_else(PoisonError::into_inner);
        status["norm"] = peerings_status(&peerings);
        status
    })?;
    loop {
        tokio::select! {
            Some(link) = node.accept() => {
                follow(&link, &output);
                let peering = Peering::start(link, own, sending);
                peerings.lock().unwrap_or_else(PoisonError::into_inner).push(peering.clone());
                tokio::spawn(far.clone().serve(peering));
            }
            asked = signals.next() => match asked {
                Asked::Reload => args.accepting.reload(&node, &output),
                Asked::End => break,
            },
        }
    }
    node.close().await;
    Ok(Exit::Interrupted)
}

/// The same for NRL's norps, that have no keys.
async fn run_norp(
    args: &ServerArgs,
    far: &Arc<Far>,
    output: &Arc<Output>,
    mut signals: Signals,
) -> Result<Exit, Failure> {
    let peers = compat::accepted(&args.accepting.accept)?;
    let listen = args.accepting.listen;
    let (norp, asking) = args.compat.start(listen, peers, args.sending.sending()?, output).await?;
    tell_listening(output, "norp", norp.address().unwrap_or(listen));
    tokio::spawn(far.clone().serve_norp(asking));
    status::serve(&args.socket, || serde_json::json!({ "event": "status" }))?;
    while signals.next().await != Asked::End {}
    Ok(Exit::Interrupted)
}
