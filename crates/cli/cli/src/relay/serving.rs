//! A relay, until a signal comes.

use std::time::{Duration, Instant};

use fanfare_command::{Exit, Failure, Notice, Output, give_up, interrupt};
use fanfare_relay::daemon::Daemon;

use crate::relay::{
    lines::{self, Line},
    options::RelayArgs,
};

/// Between two lines of totals, where there is something new.
const TOTALS: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &RelayArgs) -> Exit {
    let output = Output::new(args.output);
    match serve(args, &output) {
        Ok(exit) => {
            output.event(&Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn serve(args: &RelayArgs, output: &Output) -> Result<Exit, Failure> {
    let (networks, config) = args.plan()?;
    let (id, peers) = (config.id, config.peers.clone());
    let mut daemon = Daemon::open(networks, config)?;
    let place = |(group, interface): &(std::net::SocketAddr, Option<String>)| match interface {
        Some(interface) => format!("{group} on {interface}"),
        None => group.to_string(),
    };
    let groups: Vec<String> = daemon.places().iter().map(place).collect();
    let peers: Vec<String> = peers.iter().map(ToString::to_string).collect();
    let with =
        if peers.is_empty() { String::new() } else { format!(", with {}", peers.join(", ")) };
    output.text(&format!("relay {id} in {}{with}", groups.join(", ")));
    output.event(&Line::Relaying { id, groups, peers });
    // The loop looks whether it is asked, a second later at most.
    interrupt::call_on_interrupt(Some(Box::new(|| {})));
    let (mut next, mut told) = (Instant::now() + TOTALS, 0);
    let go_on = |relay: &fanfare_relay::Relay| {
        let counts = relay.counts();
        if Instant::now() >= next && counts.forwarded != told {
            (next, told) = (Instant::now() + TOTALS, counts.forwarded);
            output.event(&Line::totals(counts, relay.cached()));
        }
        !interrupt::is_asked()
    };
    let done = daemon.run(go_on, |event| {
        output.text(&lines::text(event));
        output.event(&Line::of(event));
    });
    done.map_err(|error| {
        let text = format!("sockets ({error}): the system refuses them. Start the relay again");
        Failure::new(Exit::Resource, "relay.failed", text)
    })?;
    let counts = daemon.relay().counts();
    output.event(&Line::totals(counts, daemon.relay().cached()));
    output.text(&format!(
        "{} messages passed on, {} repaired from here, {} of {} requests passed on",
        counts.forwarded, counts.repaired, counts.requests.1, counts.requests.0
    ));
    Ok(Exit::Interrupted)
}
