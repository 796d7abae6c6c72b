//! `fanfare proxy gateway`: the near side for a whole network, without settings in its programs.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, print_line, units};
use fanfare_link::proxy::{
    Code, Destination, Event, Fallback, GatewayListen, Listener, Near, NearOptions, Peering, Via,
    destination::Host,
    gateway::{Redirect, Rules, rules, sockets},
};
use tokio::sync::mpsc;

use super::{
    kernel::{self, Applied},
    limits::{raise_descriptors, rule},
    sending::{SendingArgs, peerings_status},
    telling,
    ways::{CarrierArg, connections, routes},
};
use crate::two_nodes::{
    EXITS,
    lines::Line,
    link::{NodeArgs, follow, links_status, tell_listening},
    peers,
    running::{Asked, Signals},
    status::{self, SocketArgs},
};

/// Destinations that wait to be told to the kernel.
const REFUSED_WAITING: usize = 256;

const HELP: Help = Help::new(&[
    (
        "fanfare proxy gateway --peer base=HOST:7001,KEY --redirect 10.2.0.0/16 --apply",
        "all connections that pass by to 10.2.x.x",
    ),
    ("fanfare proxy gateway --in eth1 --redirect fd20::/48 --print", "the rules as a script"),
    ("fanfare proxy gateway --redirect 10.2.0.0/16 --print-undo", "what takes them back"),
])
.exits(EXITS)
.files(&[
    ("~/.config/fanfare/identity", "this machine's key pair, without --identity"),
    ("nft, ip, sh", "programs that --apply needs"),
])
.values();

/// Take connections of a whole network, and carry them to another node
///
/// It runs on a router. The kernel's TPROXY brings it what goes to the --redirect destinations; all
/// else is forwarded as ever. Programs need no settings. Needs the right CAP_NET_ADMIN.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct GatewayArgs {
    /// A node to go by: NAME=HOST:PORT,KEY. May be given several times
    #[arg(long, value_name = "PEER", required_unless_present_any = ["print", "print_undo"])]
    peer: Vec<String>,
    /// Take destinations in this PREFIX[:PORTS]. May be given several times
    #[arg(long, value_name = "PREFIX", required = true)]
    redirect: Vec<String>,
    /// Take only what comes in at this interface. May be given several times
    #[arg(long = "in", value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// What to take
    #[arg(long, value_enum, default_value_t = ProtocolArg::Both, hide_short_help = true)]
    protocol: ProtocolArg,
    /// Listen at this port of loopback; also the mark of packets and the number of a routing table
    #[arg(long, value_name = "PORT", default_value_t = 7003, hide_short_help = true)]
    port: u16,
    /// Set the kernel's rules, and take them back at the end
    #[arg(long, conflicts_with_all = ["print", "print_undo"])]
    apply: bool,
    /// Print the rules as a script for sh, and do nothing else
    #[arg(long, conflicts_with = "print_undo")]
    print: bool,
    /// Print a script for sh that takes the rules back, and do nothing else
    #[arg(long)]
    print_undo: bool,
    /// What to do with new connections while no peer answers
    #[arg(long, value_enum, default_value_t = FallbackArg::Direct, hide_short_help = true)]
    fallback: FallbackArg,
    /// Which way a destination goes: RULE=PEER or refuse. The longest rule wins
    #[arg(long, value_name = "RULE=WAY", hide_short_help = true)]
    route: Vec<String>,
    /// Which way all others go: a PEER or refuse [default: the first --peer]
    #[arg(long, value_name = "WAY", hide_short_help = true)]
    default: Option<String>,
    /// What carries connections: one NORM session, or a stream of QUIC each
    #[arg(long, value_enum, default_value_t = CarrierArg::Norm, hide_short_help = true)]
    carrier: CarrierArg,
    /// Clients that may be carried: an address or PREFIX [default: all that the rules bring]
    #[arg(long, value_name = "PREFIX", hide_short_help = true)]
    allow_from: Vec<String>,
    /// Wait so long for a destination's answer
    #[arg(long, value_name = "TIME", default_value = "15s", hide_short_help = true)]
    connect_timeout: String,
    /// Most connections of one client, and of all
    #[arg(long, value_name = "N,N", default_value = "1024,10000", hide_short_help = true)]
    connections: String,
    /// Tell in events where connections go
    #[arg(long, hide_short_help = true)]
    log_destinations: bool,
    #[command(flatten)]
    sending: SendingArgs,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProtocolArg {
    /// TCP only
    Tcp,
    /// UDP only
    Udp,
    /// TCP, and UDP but for DNS and QUIC unless --redirect names their ports
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FallbackArg {
    /// Let the kernel forward them
    Direct,
    /// Refuse them
    Refuse,
}

impl GatewayArgs {
    /// Where the kernel's rules bring IPv4 and IPv6.
    fn places(&self) -> [SocketAddr; 2] {
        [([127, 0, 0, 1], self.port).into(), ([0, 0, 0, 0, 0, 0, 0, 1], self.port).into()]
    }

    fn listen(&self, redirects: &[Redirect]) -> GatewayListen {
        let taken = |v6| redirects.iter().any(|redirect| redirect.is_ipv6() == v6);
        let places = self.places().into_iter();
        GatewayListen {
            addresses: places.filter(|place| taken(place.is_ipv6())).collect(),
            tcp: self.protocol != ProtocolArg::Udp,
            udp: self.protocol != ProtocolArg::Tcp,
        }
    }

    fn rules(&self) -> Result<Rules, Failure> {
        if self.port == 0 {
            let text = "port (0): the kernel's rules need a fixed one, such as 7003";
            return Err(Failure::usage("port.invalid", text));
        }
        if let Some(name) = self.interfaces.iter().find(|name| !rules::is_interface(name)) {
            let text =
                format!("in ({name}): this cannot be an interface. Use a name as 'ip link' shows");
            return Err(Failure::usage("interface.invalid", text));
        }
        let redirect = |text: &String| {
            text.parse::<Redirect>().map_err(|why| {
                Failure::usage("redirect.invalid", format!("redirect ({text}): {why}"))
            })
        };
        let [v4, v6] = self.places();
        Ok(Rules {
            table: format!("fanfare_gateway_{}", self.port),
            interfaces: self.interfaces.clone(),
            redirects: self.redirect.iter().map(redirect).collect::<Result<_, _>>()?,
            tcp: self.protocol != ProtocolArg::Udp,
            udp: self.protocol != ProtocolArg::Tcp,
            v4,
            v6,
            mark: u32::from(self.port),
            route_table: u32::from(self.port),
            refuse: self.fallback == FallbackArg::Refuse,
        })
    }

    fn options(&self, names: &[String], listener: Listener) -> Result<NearOptions, Failure> {
        let allow_from = self.allow_from.iter().map(|text| rule("allow-from", text));
        let directly = self.route.iter().any(|route| route.ends_with("=direct"));
        if directly || self.default.as_deref() == Some("direct") {
            let text = "direct: a gateway forwards what --redirect does not name. Name less there";
            return Err(Failure::usage("route.invalid", text));
        }
        Ok(NearOptions {
            routes: routes(&self.route, self.default.as_deref(), names)?,
            carrier: self.carrier.into(),
            fallback: Fallback::Refuse,
            allow_from: allow_from.collect::<Result<_, _>>()?,
            connect_timeout: units::time("connect-timeout", &self.connect_timeout)?,
            connections_max: connections(&self.connections)?,
            descriptors: raise_descriptors(),
            listener,
            ..NearOptions::new(self.node.key()?.0, Via::Refuse)
        })
    }
}

/// Whether the sockets can be had, before anything is set.
fn try_sockets(listen: &GatewayListen) -> Result<(), Failure> {
    for &address in &listen.addresses {
        let had = sockets::tcp(address).map(drop).and_then(|()| sockets::udp(address).map(drop));
        had.map_err(|error| listen_failure(address, &error))?;
    }
    Ok(())
}

fn listen_failure(address: SocketAddr, error: &std::io::Error) -> Failure {
    let (exit, advice) = match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            (Exit::Permission, "A gateway needs CAP_NET_ADMIN: run it as root or from a service")
        }
        _ => (Exit::Resource, "Choose another with --port"),
    };
    let text = format!("gateway ({address}): cannot listen there ({error}). {advice}");
    Failure::new(exit, "listen.failed", text)
}

/// The destination of a connection that failed for a reason of its own, not of the link's.
fn refused(asked: &Mutex<HashMap<u64, Destination>>, event: &Event) -> Option<SocketAddr> {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    match event {
        Event::Open { id, destination, carrier, .. } if *carrier != "datagram" => {
            asked.insert(*id, destination.clone());
            None
        }
        Event::Reply { id, code, .. } => {
            let destination = asked.remove(id)?;
            let about_it = !matches!(code, Code::Done | Code::General);
            match destination.host {
                Host::Address(ip) if about_it => Some((ip, destination.port).into()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Tells the kernel which destinations refuse, so that a second look sees a closed port.
fn tell_kernel(rules: Rules, mut refused: mpsc::Receiver<SocketAddr>) {
    std::thread::spawn(move || {
        while let Some(destination) = refused.blocking_recv() {
            // It may be there already, or the set is full: then it looks open for longer.
            let _ = kernel::nft(&rules.refuse(destination));
        }
    });
}

pub(super) async fn run(args: &GatewayArgs, output: Output) -> Result<Exit, Failure> {
    let rules = args.rules()?;
    if args.print || args.print_undo {
        let script = if args.print { rules.apply() } else { rules.undo() };
        print_line(script.trim_end());
        return Ok(Exit::Done);
    }
    let (output, mut signals) = (Arc::new(output), Signals::install()?);
    let mut all = Vec::new();
    for text in &args.peer {
        all.push(peers::peer(text)?);
    }
    let names: Vec<String> = all.iter().map(|peer| peer.name.clone()).collect();
    let (asked, (refuses, waiting)) = (Mutex::default(), mpsc::channel(REFUSED_WAITING));
    let listener = telling::heard_by(&output, args.log_destinations, move |event| {
        if let Some(destination) = refused(&asked, event) {
            let _ = refuses.try_send(destination);
        }
    });
    let near = Near::new(args.options(&names, listener)?);
    let (sending, own) = (args.sending.sending()?, args.node.key()?.0);
    let listen = args.listen(&rules.redirects);
    try_sockets(&listen)?;
    let node = args.node.start(NodeArgs::anywhere(), Vec::new())?;
    let _applied = match args.apply {
        true => {
            tell_kernel(rules.clone(), waiting);
            Some(Applied::apply(&rules)?)
        }
        false => None,
    };
    let mut peerings = Vec::new();
    for peer in all {
        let link = node.dial(peer);
        follow(&link, &output);
        let peering = Peering::start(link, own, sending);
        peerings.push(peering.clone());
        near.add(peering);
    }
    for &address in &listen.addresses {
        tell_listening(&output, "gateway", address);
    }
    let told = (node.clone(), near.clone());
    status::serve(&args.socket, move || {
        let mut status = links_status(&told.0);
        status["norm"] = peerings_status(&peerings);
        status["connections"] = told.1.connections().into();
        status["requests"] = told.1.requests().into();
        status
    })?;
    let says = output.clone();
    let tell = move |takes| {
        let (state, text) = match takes {
            true => ("takes", "takes connections"),
            false => ("leaves", "no peer answers; takes no new connections"),
        };
        says.event(&Line::Gateway { state });
        says.text(text);
    };
    let ended = tokio::select! {
        failed = near.gateway(listen, tell) => failed,
        () = async { while signals.next().await != Asked::End {} } => Ok(()),
    };
    node.close().await;
    match ended {
        Ok(()) => Ok(Exit::Interrupted),
        Err(error) => Err(listen_failure(args.places()[0], &error)),
    }
}
