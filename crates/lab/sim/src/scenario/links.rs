//! `[[link]]` and `[[medium]]`: how nodes reach each other.

use super::{
    fields::Fields,
    nodes::Nodes,
    queues,
    traces::{ReadFile, TraceFiles},
    units,
};
use crate::{
    hop::Hop,
    link::{Link, Loss},
    medium::Medium,
    path_loss::{self, Mobility, NODES_MAX, Reach},
    queue::{Limit, Queue},
};
use fanfare_crypto::toml::scalar;
use fanfare_proto::Bitrate;
use std::sync::Arc;
use toml::{Spanned, de::DeValue};

/// The ends of a link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ends {
    /// Nodes; `None` is `*`, every host.
    pub(super) from: Option<Vec<usize>>,
    pub(super) to: Option<Vec<usize>>,
    pub(super) both: bool,
}

/// A link and the nodes it joins, one direction each.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) ends: Ends,
    pub(super) hop: Hop,
    pub(super) at: usize,
}

impl Ends {
    pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Self {
        let end = |key| match fields.words(key).as_deref() {
            Some([("*", _)]) => None,
            _ => Some(nodes.of(fields, key, "\"name\"")),
        };
        let (from, to) = (end("from"), end("to"));
        Self { from, to, both: fields.flag("both").unwrap_or(false) }
    }
    /// Whether it speaks of every host: then each pair has a path of its own.
    pub(super) fn is_open(&self) -> bool {
        self.from.is_none() || self.to.is_none()
    }
    /// One direction, then the other if both are meant.
    pub(super) fn directions(&self) -> Vec<Self> {
        let there = Self { both: false, ..self.clone() };
        let back = Self { from: self.to.clone(), to: self.from.clone(), both: false };
        if self.both { vec![there, back] } else { vec![there] }
    }
    pub(super) fn contains(&self, from: usize, to: usize) -> bool {
        let has = |end: &Option<Vec<usize>>, n| end.as_ref().is_none_or(|list| list.contains(&n));
        has(&self.from, from) && has(&self.to, to)
    }
}

/// What the keys of `fields` change in `base`.
pub(super) fn hop(fields: &Fields<'_>, base: Hop, traces: &mut TraceFiles<'_>) -> Hop {
    let link = base.link;
    let share = |key| fields.read(key, units::share);
    let link = Link {
        up: fields.flag("up").unwrap_or(link.up),
        rate: fields.read("rate", units::rate).or(link.rate),
        delay: fields.read("delay", units::time).unwrap_or(link.delay),
        jitter: fields.read("jitter", units::time).unwrap_or(link.jitter),
        loss: fields.get("loss").and_then(|value| loss(fields, value, traces)).unwrap_or(link.loss),
        duplicate: share("duplicate").unwrap_or(link.duplicate),
        reorder: share("reorder").unwrap_or(link.reorder),
        corrupt: share("corrupt").unwrap_or(link.corrupt),
        ..link
    };
    let mtu = fields.read("mtu", units::size).map_or(base.mtu, |mtu| mtu as usize);
    let queue = fields.table("queue").and_then(|queue| queues::read(&queue, link.delay));
    let held = fields.flag("held").unwrap_or(base.held);
    if held && link.rate.is_none() {
        let why = "needs a rate: without one nothing waits. Write rate = \"1Mbps\", too";
        fields.get("held").into_iter().for_each(|value| fields.wrong("held", value, why));
    }
    let bucket = fields.read("bucket", units::size).unwrap_or(base.bucket);
    if bucket > 0 && link.rate.is_none() {
        let why =
            "needs a rate: without one everything passes at once. Write rate = \"1Mbps\", too";
        fields.get("bucket").into_iter().for_each(|value| fields.wrong("bucket", value, why));
    }
    Hop { link, mtu, queue: queue.unwrap_or(base.queue), held, bucket }
}

/// A path of its own for each pair knows one queue: drop-tail in bytes.
pub(super) fn pairwise(fields: &Fields<'_>, hop: Hop) -> Hop {
    let why = "needs hops: links with a * are paths of their own for each pair. \
               Name the nodes at both ends, or leave it out";
    match hop.queue {
        Queue::DropTail(Limit::Bytes(queue_bytes)) => {
            for key in ["mtu", "held", "bucket"] {
                fields.get(key).into_iter().for_each(|value| fields.wrong(key, value, why));
            }
            Hop { link: Link { queue_bytes, ..hop.link }, ..hop }
        }
        _ => {
            let queue = fields.get("queue");
            queue.into_iter().for_each(|value| fields.wrong("queue", value, why));
            hop
        }
    }
}

/// `0.1`, `"10%"`, `{ ge = { mean = 0.1, burst = 8 } }`, `{ trace = "file" }`; or `1e-6/bit`.
fn loss(
    fields: &Fields<'_>,
    value: &Spanned<DeValue<'_>>,
    traces: &mut TraceFiles<'_>,
) -> Option<Loss> {
    if let Some(text) = scalar(value.get_ref()) {
        let Some(bits) = text.strip_suffix("/bit") else { return independent(fields, value) };
        let rate = units::error_rate(bits).map_err(|why| fields.wrong("loss", value, why));
        return rate.ok().map(Loss::BitErrors);
    }
    let table = fields.table("loss")?;
    let bursts = table.table("ge").and_then(|ge| {
        let mean = ge.need("mean", ge.read("mean", units::share), "0.2");
        let burst = ge.need("burst", ge.read("burst", units::number), "8");
        ge.finish();
        Some(Loss::Bursts { mean: mean?, burst: burst?.max(1.0) })
    });
    let trace = table.text("trace").and_then(|file| {
        let read = traces.read(file);
        let wrong =
            |why| table.get("trace").into_iter().for_each(|v| table.wrong("trace", v, &why));
        read.map_err(wrong).ok().map(Loss::Trace)
    });
    if !table.has("ge") && !table.has("trace") {
        table.mistakes.note(table.at, "loss: has no value. Write 0.1, { ge = … } or { trace = … }");
    }
    table.finish();
    bursts.or(trace)
}

fn independent(fields: &Fields<'_>, value: &Spanned<DeValue<'_>>) -> Option<Loss> {
    let share = units::share(scalar(value.get_ref()).unwrap_or_default());
    let share = share.map_err(|why| fields.wrong("loss", value, why)).ok()?;
    Some(if share > 0.0 { Loss::Independent(share) } else { Loss::None })
}

/// Reads one `[[medium]]`.
pub(super) fn medium(fields: &Fields<'_>, nodes: &Nodes, read: &ReadFile<'_>) -> Medium {
    fields.text("name");
    let on_it = nodes.of(fields, "nodes", "[\"a\", \"b\"]");
    let rate = fields.need("rate", fields.read("rate", units::rate), "\"500kbps\"");
    let mut medium = Medium::new(rate.unwrap_or(Bitrate::mbps(1)))
        .nodes(on_it.iter().map(|node| nodes.place(*node)));
    if let Some(other) = fields.table("faster") {
        let on = nodes.of(&other, "nodes", "\"a*\"");
        let rate = other.need("rate", other.read("rate", units::rate), "\"29kbps\"");
        other.finish();
        medium = rate
            .into_iter()
            .flat_map(|rate| on.iter().map(move |node| (*node, rate)))
            .fold(medium, |medium, (node, rate)| medium.rate_of(nodes.place(node), rate));
    }
    if let Some(delay) = fields.read("delay", units::time) {
        medium = medium.delay(delay);
    }
    if let Some(queue) = fields.table("queue") {
        let queue = queues::read(&queue, core::time::Duration::ZERO);
        medium = queue.into_iter().fold(medium, Medium::queue);
    }
    if fields.flag("half_duplex") == Some(false) {
        medium = medium.full_duplex();
    }
    medium = medium_loss(fields, nodes, &on_it, medium);
    if let Some(reach) = fields.table("path_loss").and_then(|f| reach(&f, on_it.len(), read)) {
        medium = medium.reach(reach);
    }
    fields.finish();
    medium
}

/// `{ company = true, limit = 139 }`, also with `columns = 4`, or `{ file = "recorded.eel", limit = 139 }`; with `combined = true` of a
/// radio that repeats what it hears.
fn reach(fields: &Fields<'_>, nodes: usize, read: &ReadFile<'_>) -> Option<Reach> {
    let limit = fields.need("limit", fields.read("limit", units::number), "139")?;
    let company = fields.flag("company") == Some(true);
    let combined = fields.flag("combined") == Some(true);
    let recorded = fields.text("file").and_then(|file| {
        let parsed = read(file).and_then(|text| path_loss::parse(&text));
        let fits = parsed.and_then(|recorded| match recorded.nodes() == nodes {
            true => Ok(recorded),
            false => Err(format!("has {} nodes instead of {nodes}", recorded.nodes())
                + ". Name as many nodes in the medium"),
        });
        let wrong =
            |why| fields.get("file").into_iter().for_each(|v| fields.wrong("file", v, &why));
        fits.map_err(wrong).ok()
    });
    if company == fields.has("file") {
        let why = "path_loss: needs a company or a file. Write one of them";
        fields.mistakes.note(fields.at, why);
    }
    let columns = fields.count("columns", 1..=nodes as u64).map(|columns| columns as usize);
    if columns.is_some() && !company {
        let why = "columns: need a company. Write company = true, too";
        fields.mistakes.note(fields.at, why);
    }
    if nodes > NODES_MAX {
        let why = format!("path_loss ({nodes} nodes): is for at most {NODES_MAX}. Use fewer");
        fields.mistakes.note(fields.at, why);
        return None;
    }
    fields.finish();
    let mobility = match recorded {
        Some(recorded) => Mobility::Recorded(Arc::new(recorded)),
        None => columns.map_or(Mobility::Company, Mobility::Columns),
    };
    Some(Reach { mobility, limit: limit as f32, combined })
}

/// One loss for all pairs, or a row for each node that sends.
fn medium_loss(fields: &Fields<'_>, nodes: &Nodes, on_it: &[usize], mut medium: Medium) -> Medium {
    let Some(value) = fields.get("loss") else { return medium };
    let Some(rows) = value.get_ref().as_array() else {
        return independent(fields, value).map_or(medium.clone(), |loss| medium.loss(loss));
    };
    let square = rows.len() == on_it.len()
        && rows.iter().all(|row| row.get_ref().as_array().is_some_and(|r| r.len() == on_it.len()));
    if !square {
        let n = on_it.len();
        fields.wrong("loss", value, format!("must have {n} rows of {n}. Write one for each node"));
        return medium;
    }
    for (row, from) in rows.iter().zip(on_it) {
        for (cell, to) in row.get_ref().as_array().into_iter().flat_map(|r| r.iter()).zip(on_it) {
            if let Some(loss) = independent(fields, cell) {
                medium = medium.pair(nodes.place(*from), nodes.place(*to), loss);
            }
        }
    }
    medium
}
