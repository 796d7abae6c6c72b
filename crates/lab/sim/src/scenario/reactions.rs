//! `[[reaction]]`: a change after which a flow should have a certain share.

use super::{fields::Fields, nodes::Nodes, units};
use crate::{flow::layered::Convergence, results::reaction::Reaction, topology::Edge};

/// Reads one `[[reaction]]`.
pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes, hops: &[Edge]) -> Option<Reaction> {
    let one = |key| match nodes.of(fields, key, "\"name\"").as_slice() {
        [one] => Some(*one),
        [] => None,
        many => {
            let text = format!("reaction.{key} ({} nodes): must be one. Name it", many.len());
            fields.mistakes.note(fields.at, text);
            None
        }
    };
    let (of, from, to) = (one("node"), one("from"), one("to"));
    let name = fields.need("name", fields.text("name"), "\"halved\"");
    let at = fields.need("at", fields.read("at", units::time), "\"60s\"");
    let share = fields.need("share", fields.read("share", units::rate), "\"500kbps\"");
    let rtt = fields.need("rtt", fields.read("rtt", units::time), "\"100ms\"");
    fields.finish();
    let host = nodes.host(of?);
    if host.is_none() {
        let shown = &nodes.list[of?].name;
        let text = format!("reaction.node ({shown}): sends nothing. Name one with a fanfare flow");
        fields.mistakes.note(fields.at, text);
    }
    let hop = (nodes.place(from?), nodes.place(to?));
    if !hops.iter().any(|edge| (edge.from, edge.to) == hop) {
        let (a, b) = (&nodes.list[from?].name, &nodes.list[to?].name);
        let text = format!("reaction ({a} to {b}): there is no such link. Write a [[link]] first");
        fields.mistakes.note(fields.at, text);
    }
    Some(Reaction { name: name?.to_owned(), at: at?, of: host?, hop, share: share?, rtt: rtt? })
}

/// Reads one `[[reaction]]` of receivers of layers.
pub(super) fn read_reaching(fields: &Fields<'_>, nodes: &Nodes) -> Option<Convergence> {
    let of = nodes.of(fields, "node", "\"name\"");
    let name = fields.need("name", fields.text("name"), "\"start\"");
    let at = fields.read("at", units::time);
    let share = fields.need("share", fields.read("share", units::rate), "\"500kbps\"");
    fields.finish();
    let of = of.into_iter().map(|node| nodes.place(node)).collect();
    Some(Convergence { name: name?.to_owned(), of, at, share: share? })
}
