//! `[[flow]]` of kind "layered": a layered session and its receivers.

use core::ops::Range;

use fanfare_proto::{
    Bitrate, Duration,
    congestion::layered::{LayeredControl, Scheme, announcement::INTERVAL, scheme::LAYERS_MAX},
};

use super::{fields::Fields, nodes::Nodes, units};

/// Sessions as the file describes them; nodes by number.
#[derive(Debug, Clone)]
pub(super) struct Sessions {
    /// Several sources have a receiver each; one has all of them.
    pub(super) from: Vec<usize>,
    pub(super) to: Vec<usize>,
    pub(super) control: LayeredControl,
    pub(super) scheme: Scheme,
    pub(super) packet: u16,
    pub(super) interval: Duration,
    pub(super) rtt: Duration,
    pub(super) during: Range<Duration>,
    /// When the first receiver begins, how much later each next one, and by how much chance delays it.
    pub(super) join: Duration,
    pub(super) stagger: Duration,
    pub(super) spread: Duration,
}

const CONTROLS: [LayeredControl; 8] = [
    LayeredControl::Era,
    LayeredControl::EraTolerant,
    LayeredControl::EraPublished,
    LayeredControl::Plm,
    LayeredControl::FlidDl,
    LayeredControl::Webrc,
    LayeredControl::Rlc,
    LayeredControl::Rlm,
];

/// Reads one.
pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Option<Sessions> {
    let from = nodes.of(fields, "from", "\"name\"");
    let to = nodes.of(fields, "to", "\"name\"");
    let controls = CONTROLS.map(|control| (control.name(), control));
    let control = fields.need("cc", fields.choice("cc", &controls), "\"era\"");
    let time = |key| fields.read(key, units::time);
    let start = time("start").unwrap_or_default();
    let sessions = Sessions {
        from,
        to,
        control: control.unwrap_or(LayeredControl::Era),
        scheme: scheme(fields).unwrap_or(Scheme::Listed(Vec::new())),
        packet: fields.count("packet", 64..=9000).map_or(512, |n| n as u16),
        interval: fields.read("interval", interval).unwrap_or(Duration::from_secs(1)),
        rtt: time("rtt").unwrap_or(Duration::from_millis(60)),
        during: start..time("stop").unwrap_or(Duration::MAX),
        join: time("join").unwrap_or(start),
        stagger: time("stagger").unwrap_or_default(),
        spread: time("spread").unwrap_or_default(),
    };
    let sound = sessions.have_receivers(fields, nodes)
        && sessions.scheme.layers().is_ok()
        && sessions.suit_each_other(fields);
    control.filter(|_| sound).map(|_| sessions)
}

impl Sessions {
    /// Notes waves for another scheme than WEBRC, and WEBRC without them.
    fn suit_each_other(&self, fields: &Fields<'_>) -> bool {
        let waves = matches!(self.scheme, Scheme::Waves { .. });
        let suits = waves == (self.control == LayeredControl::Webrc);
        if !suits {
            let text = "flow.layers: webrc has waves, and nothing else has. \
                        Write cc = \"webrc\" and layers = { waves = \"4096bps\", count = 16 }";
            fields.mistakes.note(fields.at, text.to_owned());
        }
        suits
    }

    /// Notes sources without a receiver, and receivers that are sources.
    fn have_receivers(&self, fields: &Fields<'_>, nodes: &Nodes) -> bool {
        let (from, to) = (self.from.len(), self.to.len());
        let both = self.from.iter().find(|node| self.to.contains(node));
        if let Some(both) = both {
            let name = &nodes.list[*both].name;
            fields.mistakes.note(fields.at, format!("flow.to ({name}): is a source. Name another"));
        } else if from > 1 && from != to {
            let why = format!("{from} sources need a receiver each. Name as many, or one source");
            fields.mistakes.note(fields.at, format!("flow.to ({to} nodes): {why}"));
        }
        both.is_none() && (from <= 1 || from == to)
    }
}

/// One that receivers follow.
fn interval(text: &str) -> Result<Duration, String> {
    let (interval, (least, most)) = (units::time(text)?, INTERVAL.into_inner());
    match (u128::from(least)..=u128::from(most)).contains(&interval.as_millis()) {
        true => Ok(interval),
        false => Err(format!("out of range. Write {least}ms to {most}ms")),
    }
}

/// `{ equal = "20kbps", count = 100 }`, `{ base = "12kbps", factor = 1.3, count = 26 }`,
/// `{ listed = ["64kbps", "192kbps"] }`, `{ waves = "4096bps", fall = 0.75, count = 16 }`.
fn scheme(fields: &Fields<'_>) -> Option<Scheme> {
    let example = "{ equal = \"20kbps\", count = 50 }";
    let table = fields.need("layers", fields.table("layers"), example)?;
    let count = table.count("count", 1..=LAYERS_MAX as u64).map(|n| n as u8);
    let listed: Vec<Bitrate> = table.list("listed", units::rate);
    let equal = table.read("equal", units::rate);
    let base = table.read("base", units::rate);
    let factor = table.read("factor", units::number).unwrap_or(2.0);
    let waves = table.read("waves", units::rate);
    // RFC 3738 3.1.1.
    let fall = table.read("fall", units::number).unwrap_or(0.75);
    table.finish();
    let thousandths = |n: f64| (n * 1000.0).clamp(0.0, f64::from(u16::MAX)) as u16;
    let scheme = match (equal, base, count) {
        _ if !listed.is_empty() => Scheme::Listed(listed),
        (Some(rate), None, Some(count)) => Scheme::Equal { rate, count },
        (None, Some(base), Some(count)) => {
            Scheme::Multiplicative { base, factor: thousandths(factor), count }
        }
        (None, None, Some(count)) if waves.is_some() => {
            Scheme::Waves { base: waves?, fall: thousandths(fall), count }
        }
        _ => {
            let text = format!("layers: have no rates. Write {example}, base, waves, or listed");
            table.mistakes.note(table.at, text);
            return None;
        }
    };
    if let Err(why) = scheme.layers() {
        let text = format!("layers: not possible ({why:?}). Write {example}");
        table.mistakes.note(table.at, text);
        return None;
    }
    Some(scheme)
}
