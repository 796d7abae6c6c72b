//! `fanfare proxy client`: the near side.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_link::proxy::{
    Destination, Fallback, Front, Near, NearOptions, Peering, Via, users::Users,
};

use super::{
    compat::{self, CompatArgs},
    limits::{raise_descriptors, rule},
    sending::{SendingArgs, peerings_status},
    telling,
    ways::{CarrierArg, OptimismArg, connections, routes},
};
use crate::two_nodes::{
    EXITS,
    link::{NodeArgs, follow, links_status, tell_listening},
    peers,
    running::{Asked, Signals},
    status::{self, SocketArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare proxy client --peer base=198.51.100.7:7001,KEY", "SOCKS5 at port 7000"),
    ("fanfare proxy client --peer base=HOST:7001,KEY --http 127.0.0.1:3128", "and HTTP"),
    ("fanfare proxy client --peer base=HOST:7001,KEY --forward 2222=git.lan:22", "a port"),
])
.exits(EXITS)
.files(&[
    ("~/.config/fanfare/identity", "this machine's key pair, without --identity"),
    ("--auth-file FILE", "users and passwords, a line each"),
])
.values();

/// Take connections of programs, and carry them to another node
///
/// Programs connect to it by SOCKS5, as an HTTP proxy, or by a port that leads to one destination.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ClientArgs {
    /// A node to go by: NAME=HOST:PORT,KEY. May be given several times
    #[arg(long, value_name = "PEER", required = true)]
    peer: Vec<String>,
    /// Listen for SOCKS5 here. May be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7000")]
    listen: Vec<SocketAddr>,
    /// Be an HTTP proxy here, for http:// and CONNECT. May be given several times
    #[arg(long, value_name = "ADDRESS")]
    http: Vec<SocketAddr>,
    /// Carry every connection to [ADDRESS:]PORT to a place, HOST:PORT. May be given several times
    #[arg(long, value_name = "PORT=PLACE")]
    forward: Vec<String>,
    /// Which way a destination goes: RULE=PEER, direct or refuse. The longest rule wins
    #[arg(long, value_name = "RULE=WAY")]
    route: Vec<String>,
    /// Which way all others go: a PEER, direct or refuse [default: the first --peer]
    #[arg(long, value_name = "WAY")]
    default: Option<String>,
    /// With --compat nrl, hear the peers' signalling here
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:7001", hide_short_help = true)]
    compat_listen: SocketAddr,
    /// What carries connections: one NORM session, or a stream of QUIC each
    #[arg(long, value_enum, default_value_t = CarrierArg::Norm, hide_short_help = true)]
    carrier: CarrierArg,
    /// What to do while a peer does not answer
    #[arg(long, value_enum, default_value_t = FallbackArg::Refuse, hide_short_help = true)]
    fallback: FallbackArg,
    /// Clients that may come from other machines: an address or PREFIX
    #[arg(long, value_name = "PREFIX", hide_short_help = true)]
    allow_from: Vec<String>,
    /// File of users and passwords; 'fanfare proxy password' makes its lines
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    auth_file: Option<PathBuf>,
    /// Tell programs that they are connected before the far side has answered [alone: always]
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "known",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always",
        hide_short_help = true
    )]
    optimistic: OptimismArg,
    /// Let a request wait so long for a link that is down
    #[arg(long, value_name = "TIME", default_value = "5s", hide_short_help = true)]
    wait_link: String,
    /// Wait so long for a destination's answer
    #[arg(long, value_name = "TIME", default_value = "15s", hide_short_help = true)]
    connect_timeout: String,
    /// Most connections of one program's machine, and of all
    #[arg(long, value_name = "N,N", default_value = "1024,10000", hide_short_help = true)]
    connections: String,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FallbackArg {
    /// Refuse the connection
    Refuse,
    /// Connect from this machine
    Direct,
}

impl ClientArgs {
    fn users(&self) -> Result<Option<Users>, Failure> {
        let Some(path) = &self.auth_file else { return Ok(None) };
        let shown = path.display();
        let text = fanfare_command::text_file::read(path).map_err(|error| {
            let text = format!("auth-file ({shown}): cannot be read ({error}). Check the path");
            Failure::new(Exit::Permission, "users.unreadable", text)
        })?;
        let users = Users::parse(&text).map_err(|error| {
            let text = format!("auth-file ({shown}): {error}. Use 'fanfare proxy password'");
            Failure::usage("users.invalid", text)
        })?;
        Ok(Some(users))
    }

    fn options(&self, names: &[String], output: &Arc<Output>) -> Result<NearOptions, Failure> {
        let users = self.users()?;
        let allow_from = self.allow_from.iter().map(|text| rule("allow-from", text));
        let allow_from = allow_from.collect::<Result<Vec<_>, _>>()?;
        let fronts = self.listen.iter().chain(&self.http);
        if let Some(open) = fronts.into_iter().find(|address| !address.ip().is_loopback())
            && allow_from.is_empty()
            && users.is_none()
        {
            let text = format!(
                "listen ({open}): other machines could use it. Give --allow-from or --auth-file"
            );
            return Err(Failure::usage("listen.open", text));
        }
        let fallback = match self.fallback {
            FallbackArg::Refuse => Fallback::Refuse,
            FallbackArg::Direct => Fallback::Direct,
        };
        // norp has no keys.
        let own = if self.compat.is_nrl() { [0; 32] } else { self.node.key()?.0 };
        Ok(NearOptions {
            routes: routes(&self.route, self.default.as_deref(), names)?,
            carrier: self.carrier.into(),
            fallback,
            users,
            allow_from,
            wait_link: units::time("wait-link", &self.wait_link)?,
            connect_timeout: units::time("connect-timeout", &self.connect_timeout)?,
            optimism: self.optimistic.into(),
            connections_max: connections(&self.connections)?,
            descriptors: raise_descriptors(),
            listener: telling::listener(output, self.log_destinations),
            ..NearOptions::new(own, Via::Refuse)
        })
    }

    /// All listeners and what each speaks.
    fn fronts(&self) -> Result<Vec<(SocketAddr, Front, &'static str)>, Failure> {
        let socks = self.listen.iter().map(|address| (*address, Front::Socks, "socks5"));
        let http = self.http.iter().map(|address| (*address, Front::Http, "http"));
        let mut all: Vec<_> = socks.chain(http).collect();
        for text in &self.forward {
            let (address, to) = forward(text)?;
            all.push((address, Front::Forward(to), "forward"));
        }
        Ok(all)
    }
}

/// `[ADDRESS:]PORT=HOST:PORT`.
fn forward(text: &str) -> Result<(SocketAddr, Destination), Failure> {
    let wrong = |why: &str| Failure::usage("forward.invalid", format!("forward ({text}): {why}"));
    const FORM: &str = "write it as 2222=HOST:22 or 127.0.0.1:2222=HOST:22";
    let (from, to) = text.split_once('=').ok_or_else(|| wrong(FORM))?;
    let address = match from.parse::<u16>() {
        Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
        Err(_) => from.parse().map_err(|_| wrong(FORM))?,
    };
    if !address.ip().is_loopback() {
        return Err(wrong("it may be on loopback only, since it asks for no password"));
    }
    let to = to.parse().map_err(|error| wrong(&format!("{error}")))?;
    Ok((address, to))
}

pub(super) async fn run(args: &ClientArgs, output: Output) -> Result<Exit, Failure> {
    let (output, signals) = (Arc::new(output), Signals::install()?);
    if args.compat.is_nrl() {
        return run_norp(args, output, signals).await;
    }
    let mut signals = signals;
    let mut all = Vec::new();
    for text in &args.peer {
        all.push(peers::peer(text)?);
    }
    let names: Vec<String> = all.iter().map(|peer| peer.name.clone()).collect();
    let near = Near::new(args.options(&names, &output)?);
    let fronts = args.fronts()?;
    let node = args.node.start(NodeArgs::anywhere(), Vec::new())?;
    let (sending, own) = (args.sending.sending()?, args.node.key()?.0);
    let mut peerings = Vec::new();
    for peer in all {
        let link = node.dial(peer);
        follow(&link, &output);
        let peering = Peering::start(link, own, sending);
        peerings.push(peering.clone());
        near.add(peering);
    }
    listen(&near, fronts, &output).await?;
    let told = (node.clone(), near.clone());
    status::serve(&args.socket, move || {
        let mut status = links_status(&told.0);
        status["norm"] = peerings_status(&peerings);
        status["connections"] = told.1.connections().into();
        status["requests"] = told.1.requests().into();
        status
    })?;
    while signals.next().await != Asked::End {}
    node.close().await;
    Ok(Exit::Interrupted)
}

async fn listen(
    near: &Arc<Near>,
    fronts: Vec<(SocketAddr, Front, &'static str)>,
    output: &Output,
) -> Result<(), Failure> {
    for (address, front, what) in fronts {
        let bound = near.listen(address, front).await.map_err(|error| {
            let text = format!("{what} ({address}): cannot listen there ({error}). Choose another");
            Failure::new(Exit::Resource, "listen.failed", text)
        })?;
        tell_listening(output, what, bound);
    }
    Ok(())
}

/// The same with NRL's norps as peers: there are no links, keys or messages.
async fn run_norp(
    args: &ClientArgs,
    output: Arc<Output>,
    mut signals: Signals,
) -> Result<Exit, Failure> {
    let mut peers = Vec::new();
    for text in &args.peer {
        peers.push(compat::peer(text)?);
    }
    let names: Vec<String> = peers.iter().map(|(name, _)| name.clone()).collect();
    let near = Near::new(args.options(&names, &output)?);
    let fronts = args.fronts()?;
    let mut rules = Vec::new();
    for (name, address) in &peers {
        rules.push((name.clone(), rule("peer", &address.ip().to_string())?));
    }
    let sending = args.sending.sending()?;
    // Nobody may ask this side: requests are dropped with what would take them.
    let (norp, _) = args.compat.start(args.compat_listen, rules, sending, &output).await?;
    for (name, address) in peers {
        near.add_norp(&name, norp.clone(), address);
    }
    listen(&near, fronts, &output).await?;
    let told = near.clone();
    status::serve(&args.socket, move || {
        serde_json::json!({
            "event": "status",
            "connections": told.connections(),
            "requests": told.requests(),
        })
    })?;
    while signals.next().await != Asked::End {}
    Ok(Exit::Interrupted)
}
