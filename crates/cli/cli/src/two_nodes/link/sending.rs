//! `fanfare link send`: messages to another node, until it has acknowledged them.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_link::{Class, Event, Link, Options, early::tickets::Tickets};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    sync::broadcast::{Receiver, error::TryRecvError},
};

use super::{NodeArgs, follow};
use crate::two_nodes::{EXITS, lines::Line, peers};

const HELP: Help = Help::new(&[
    ("fanfare link send base=198.51.100.7:7001,KEY 'here I am'", "one message"),
    ("fanfare link send base=198.51.100.7:7001,KEY --tag 7 --replace", "each line of input"),
])
.exits(EXITS)
.files(&[
    ("~/.config/fanfare/identity", "this machine's key pair, without --identity"),
    ("~/.config/fanfare/identity.tickets", "with --early: tickets of links before"),
])
.values();

/// Send messages, and wait until they are acknowledged
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct SendArgs {
    /// The other node: NAME=HOST:PORT,KEY
    #[arg(value_name = "PEER")]
    peer: String,
    /// The messages [default: each line of standard input]
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
    /// What is promised: r reliable or u unreliable, then s sequenced or u unsequenced
    #[arg(long, value_name = "CLASS", default_value = "rs", value_parser = ["rs", "ru", "us", "uu"])]
    class: String,
    /// Name of a kind of message, as a number
    #[arg(long, value_name = "N", default_value_t = 0)]
    tag: u64,
    /// Take back earlier messages of this tag that have not arrived
    #[arg(long, requires = "tag")]
    replace: bool,
    /// Send messages of higher priority first
    #[arg(long, value_name = "0-255", default_value_t = 0)]
    priority: u8,
    /// Give a message up after so long
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// Send with the first packet, by a ticket of the last time: no round trip before it arrives
    #[arg(long, hide_short_help = true)]
    early: bool,
    /// File of tickets for --early [default: that of --identity with .tickets]
    #[arg(long, value_name = "FILE", requires = "early", hide_short_help = true)]
    tickets: Option<PathBuf>,
    /// Wait so long for the other node's acknowledgements
    #[arg(long, value_name = "TIME", default_value = "30s")]
    wait: String,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl SendArgs {
    fn options(&self) -> Result<Options, Failure> {
        let deadline = self.deadline.as_deref().map(units::expiry).transpose()?;
        let Self { priority, tag, replace, early, .. } = *self;
        Ok(Options { priority, tag, replace, deadline, early })
    }

    /// The file of tickets, which can be read if it is there.
    fn tickets(&self) -> Result<Option<PathBuf>, Failure> {
        if !self.early {
            return Ok(None);
        }
        let path = self.tickets.clone().map_or_else(|| self.node.tickets(), Ok)?;
        if let Err(error) = Tickets::open(&path) {
            let text = format!(
                "tickets ({}): cannot be used ({error}). Remove it, and a new one is made",
                path.display()
            );
            return Err(Failure::new(Exit::Permission, "tickets.unusable", text));
        }
        Ok(Some(path))
    }
}

pub(super) async fn run(args: &SendArgs, output: Output) -> Result<Exit, Failure> {
    let (output, options) = (Arc::new(output), args.options()?);
    let class: Class = args
        .class
        .parse()
        .map_err(|why| Failure::usage("class.invalid", format!("class ({}): {why}", args.class)))?;
    let (peer, wait) = (peers::peer(&args.peer)?, units::time("wait", &args.wait)?);
    let node = args.node.start_with(NodeArgs::anywhere(), Vec::new(), args.tickets()?)?;
    let link = node.dial(peer);
    let mut events = link.events();
    follow(&link, &output);
    if args.texts.is_empty() {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            send(&link, class, line.as_bytes(), options).await?;
        }
    }
    for text in &args.texts {
        send(&link, class, text.as_bytes(), options).await?;
    }
    let connected = link.connected(wait).await.is_some();
    let all = link.flushed(wait).await;
    if !class.is_reliable() {
        // Datagrams are sent in the order of their arrival; nothing acknowledges them.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let [sent, _] = link.counts();
    let counts = sent.class(class);
    let (acknowledged, expired) = (counts.acknowledged, counts.expired);
    output.event(&Line::Sent { acknowledged, expired, waiting: link.waiting() });
    // Before the end: a try that it cuts off is no answer of the other node.
    let refusal = refused(&mut events);
    node.close().await;
    if !connected && let Some(why) = refusal {
        let text = format!(
            "peer ({}): no connection ({why}). Compare both keys; this one is {}",
            link.name(),
            args.node.key()?
        );
        return Err(Failure::new(Exit::Permission, "peer.refused", text));
    }
    if !connected {
        let text = format!(
            "peer ({}): did not answer within {} s. Check its address, and whether it accepts this key: {}",
            link.name(),
            wait.as_secs(),
            args.node.key()?
        );
        return Err(Failure::new(Exit::Nobody, "peer.silent", text));
    }
    Ok(if all && expired == 0 { Exit::Done } else { Exit::Failed })
}

/// Reason why the last try failed, if keys were why.
fn refused(events: &mut Receiver<Event>) -> Option<String> {
    let mut last = None;
    loop {
        match events.try_recv() {
            Ok(Event::Refused(why)) => last = Some(why),
            Ok(Event::Failed(_)) => last = None,
            Ok(_) | Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return last,
        }
    }
}

/// Waits while too much is waiting already.
async fn send(link: &Link, class: Class, bytes: &[u8], options: Options) -> Result<(), Failure> {
    loop {
        match link.send(class, bytes, options) {
            Ok(_) => return Ok(()),
            Err(fanfare_link::SendError::Full) => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(error) => {
                let text = format!("message ({} bytes): {error}. Send it in parts", bytes.len());
                return Err(Failure::usage("message.refused", text));
            }
        }
    }
}
