//! Events of a proxy as lines.

use std::sync::Arc;

use fanfare_command::Output;
use fanfare_link::proxy::{Event, Listener};

use crate::two_nodes::lines::Line;

const EXHAUSTED: &str =
    "no file descriptor is left: new connections wait. Raise the limit ('ulimit -n', LimitNOFILE=)";

/// Prints what happens. Where connections go is told only when `names` is set.
pub(super) fn listener(output: &Arc<Output>, names: bool) -> Listener {
    heard_by(output, names, |_| {})
}

/// The same, and `hear` is told first.
pub(super) fn heard_by(
    output: &Arc<Output>,
    names: bool,
    hear: impl Fn(&Event) + Send + Sync + 'static,
) -> Listener {
    let output = output.clone();
    Listener::new(move |event| {
        hear(&event);
        if let Event::Exhausted = event {
            return output.warn("descriptors.exhausted", EXHAUSTED);
        }
        if output.tells_events() {
            line(event, names).iter().for_each(|line| output.event(line));
        }
    })
}

/// `None` for what is a warning.
fn line(event: Event, names: bool) -> Option<Line> {
    Some(match event {
        Event::Open { id, client, destination, peer, carrier } => {
            let destination = names.then(|| destination.to_string());
            Line::Open { id, client, destination, peer, carrier }
        }
        Event::Reply { id, code, reason } => Line::Reply { id, code: code as u8, reason },
        Event::Close { id, bytes_up, bytes_down, seconds, how } => {
            Line::Close { id, bytes_up, bytes_down, seconds, how: how.name() }
        }
        Event::Fallback { id, peer } => Line::Fallback { id, peer },
        Event::Refused { client, reason } => Line::Refused { client: client.to_string(), reason },
        Event::Exhausted => return None,
    })
}
