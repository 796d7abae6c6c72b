//! `[[flow]]`: who sends what to whom.

use core::ops::Range;

use fanfare_proto::{
    CongestionControl, Duration, FecConfig, FeedbackPath, JoinPolicy, ReceiverConfig, SenderConfig,
};

use super::{
    fields::Fields,
    groups::Group,
    layered::{self, Sessions},
    nodes::Nodes,
    units,
};
use crate::{
    flow::FlowKind,
    plan::Object,
    tcp::{Algorithm, Config, LossDetection, Source},
};

/// Bytes of an object that never ends: nine minutes at 1 Gbit/s, and below what 24 bits of block
/// number can name.
const ENDLESS: u64 = 1 << 36;

/// A flow as the file describes it; nodes by number.
#[derive(Debug, Clone)]
pub(super) enum Role {
    Send {
        nodes: Vec<usize>,
        /// The one receiver of each, when sessions are unicast; else empty.
        to: Vec<usize>,
        /// Where the file describes it.
        described: usize,
        sender: Box<SenderConfig>,
        objects: Vec<Object>,
        at: Duration,
        stagger: Duration,
    },
    Receive {
        nodes: Vec<usize>,
        receiver: Box<ReceiverConfig>,
        feedback: FeedbackPath,
    },
    Group(Box<Group>),
    Background {
        from: usize,
        to: usize,
        kind: FlowKind,
        during: Range<Duration>,
        stagger: Duration,
        names: Vec<Option<String>>,
    },
    Layered(Box<Sessions>, usize),
}

/// Background flows of one `[[flow]]`, at most.
const FLOWS_MAX: u64 = 1_000;

#[derive(Clone, Copy)]
enum Kind {
    Send,
    Receive,
    Group,
    Cbr,
    OnOff,
    Tcp,
    Layered,
    Elsewhere,
}

impl Role {
    /// Whether it is sending without end.
    pub(super) fn is_endless(&self) -> bool {
        matches!(self, Self::Send { objects, .. } if objects.iter().any(|o| o.size == ENDLESS))
    }

    /// Reads one `[[flow]]`.
    pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Option<Self> {
        let kinds = [
            ("fanfare-send", Kind::Send),
            ("fanfare-recv", Kind::Receive),
            ("fanfare-group", Kind::Group),
            ("cbr", Kind::Cbr),
            ("on-off", Kind::OnOff),
            ("tcp", Kind::Tcp),
            ("layered", Kind::Layered),
            ("command", Kind::Elsewhere),
            ("norm", Kind::Elsewhere),
        ];
        let role = match fields.need("kind", fields.choice("kind", &kinds), "\"fanfare-send\"")? {
            Kind::Send => send(fields, nodes),
            Kind::Receive => receive(fields, nodes),
            Kind::Group => Group::read(fields, nodes).map(|group| Self::Group(Box::new(group))),
            Kind::Cbr | Kind::OnOff | Kind::Tcp => background(fields, nodes),
            Kind::Layered => layered::read(fields, nodes)
                .map(|sessions| Self::Layered(Box::new(sessions), fields.at)),
            Kind::Elsewhere => {
                let why = "runs on real interfaces only. Leave it out for the simulator";
                fields.get("kind").into_iter().for_each(|value| fields.wrong("kind", value, why));
                return None;
            }
        };
        fields.finish();
        role
    }
}

/// The keys of whatever sends.
pub(super) fn sender_config(fields: &Fields<'_>) -> SenderConfig {
    let defaults = SenderConfig::default();
    let byte = |key| fields.count(key, 0..=255);
    let source = fields.count("block", 1..=1024).map_or(defaults.fec.source, |n| n as u16);
    let parity = byte("parity").map_or(defaults.fec.parity, |n| n as u16);
    let proactive = byte("proactive").map_or(defaults.fec.proactive, |n| n as u16);
    let controllers = [
        ("fixed", CongestionControl::Fixed),
        ("norm", CongestionControl::Norm),
        ("ecn", CongestionControl::Ecn),
        ("loss-tolerant", CongestionControl::LossTolerant),
        ("auto", CongestionControl::Auto),
    ];
    let sender = SenderConfig {
        congestion: fields.choice("cc", &controllers).unwrap_or_default(),
        rate: fields.read("rate", units::rate).unwrap_or(defaults.rate),
        segment_size: fields
            .count("segment", 16..=8192)
            .map_or(defaults.segment_size, |n| n as u16),
        fec: FecConfig { source, parity, proactive, ..defaults.fec },
        backoff_factor: byte("backoff_factor").map_or(defaults.backoff_factor, |n| n as u8),
        group_size: fields
            .count("group_size", 1..=100_000_000)
            .map_or(defaults.group_size, |n| n as u32),
        grtt_initial: fields.read("grtt", units::time).unwrap_or(defaults.grtt_initial),
        repair_share: fields
            .count("repair_share", 0..=100)
            .map_or(defaults.repair_share, |n| n as u8),
        ..defaults
    };
    if source + parity > 255 {
        let text = format!(
            "flow.block ({source}): with {parity} parity is more than 255 symbols. Lower one"
        );
        fields.mistakes.note(fields.at, text);
    }
    sender
}

fn send(fields: &Fields<'_>, nodes: &Nodes) -> Option<Role> {
    let sender = sender_config(fields);
    let size = |text: &str| if text == "endless" { Ok(ENDLESS) } else { units::size(text) };
    let size = fields.need("size", fields.read("size", size), "\"1MB\"");
    let count = fields.count("count", 1..=30_000).unwrap_or(1);
    let objects = (0..count).map(|_| Object::data(size.unwrap_or(0))).collect();
    let at = fields.read("at", units::time).unwrap_or_default();
    let stagger = fields.read("stagger", units::time).unwrap_or_default();
    let to = if fields.has("to") { nodes.of(fields, "to", "\"name\"") } else { Vec::new() };
    let nodes = nodes.of(fields, "node", "\"name\"");
    if fields.has("to") && to.len() != nodes.len() {
        let text = format!(
            "flow.to ({} nodes): must be as many as flow.node ({}). Name one receiver for each",
            to.len(),
            nodes.len()
        );
        fields.mistakes.note(fields.at, text);
    }
    let (sender, described) = (Box::new(sender), fields.at);
    Some(Role::Send { nodes, to, described, sender, objects, at, stagger })
}

fn receive(fields: &Fields<'_>, nodes: &Nodes) -> Option<Role> {
    let joins = [
        ("from-now", JoinPolicy::FromNow),
        ("object-start", JoinPolicy::ObjectStart),
        ("all", JoinPolicy::AllCached),
    ];
    let paths = [("group", FeedbackPath::Group), ("sender", FeedbackPath::Sender)];
    let receiver = ReceiverConfig {
        join: fields.choice("join", &joins).unwrap_or_default(),
        silent: fields.flag("silent").unwrap_or(false),
        ..ReceiverConfig::default()
    };
    let feedback = fields.choice("feedback", &paths).unwrap_or_default();
    let nodes = nodes.of(fields, "node", "\"name\"");
    Some(Role::Receive { nodes, receiver: Box::new(receiver), feedback })
}

fn background(fields: &Fields<'_>, nodes: &Nodes) -> Option<Role> {
    let one = |key| match nodes.of(fields, key, "\"name\"").as_slice() {
        [one] => Some(*one),
        [] => None,
        many => {
            let text =
                format!("flow.{key} ({} nodes): must be one. Write a flow for each", many.len());
            fields.mistakes.note(fields.at, text);
            None
        }
    };
    let (from, to) = (one("from"), one("to"));
    let kind = kind(fields);
    let start = fields.read("start", units::time).unwrap_or_default();
    let stop = fields.read("stop", units::time).unwrap_or(Duration::MAX);
    if from.is_some() && from == to {
        fields.mistakes.note(fields.at, "flow.to: is also the sender. Name two nodes");
        return None;
    }
    let (names, stagger) = (names(fields), fields.read("stagger", units::time).unwrap_or_default());
    Some(Role::Background {
        from: from?,
        to: to?,
        kind: kind?,
        during: start..stop,
        stagger,
        names,
    })
}

/// A name for each of `count` flows: name1, name2 and so on.
fn names(fields: &Fields<'_>) -> Vec<Option<String>> {
    let name = fields.text("name");
    match fields.count("count", 0..=FLOWS_MAX) {
        Some(count) => (1..=count).map(|n| name.map(|name| format!("{name}{n}"))).collect(),
        None => vec![name.map(str::to_owned)],
    }
}

fn kind(fields: &Fields<'_>) -> Option<FlowKind> {
    if fields.text("kind") == Some("tcp") {
        return Some(tcp(fields));
    }
    let rate = fields.need("rate", fields.read("rate", units::rate), "\"500kbps\"");
    let packet = fields.count("packet", 29..=65_535);
    let bytes = fields.need("packet", packet, "1250").map(|n| n as usize);
    if fields.text("kind") == Some("cbr") {
        return Some(FlowKind::Cbr { rate: rate?, bytes: bytes? });
    }
    let on = fields.need("on", fields.read("on", units::time), "\"1s\"");
    let off = fields.need("off", fields.read("off", units::time), "\"2s\"");
    Some(FlowKind::OnOff { rate: rate?, bytes: bytes?, on: on?, off: off? })
}

fn tcp(fields: &Fields<'_>) -> FlowKind {
    let algorithms = [("cubic", Algorithm::Cubic), ("reno", Algorithm::Reno)];
    let detections =
        [("rack", LossDetection::RackTlp), ("duplicate-acks", LossDetection::DuplicateAcks)];
    let defaults = Config::default();
    let config = Config {
        algorithm: fields.choice("algorithm", &algorithms).unwrap_or(defaults.algorithm),
        loss_detection: fields
            .choice("loss_detection", &detections)
            .unwrap_or(defaults.loss_detection),
        ecn: fields.flag("ecn").unwrap_or(defaults.ecn),
        segment_size: fields.count("segment", 1..=9000).map_or(defaults.segment_size, |n| n as u32),
        ..defaults
    };
    let source = fields.read("size", units::size).map_or(Source::Greedy, Source::Bytes);
    FlowKind::Tcp { config, source }
}
