//! Ceilings for those who send over links that are full. They lapse by themselves.

use std::{collections::BTreeMap, time::Duration};

use fanfare_messaging::monitor::{
    Bitrate, Time,
    advice::{Advice, Adviser, Bounds, Sight},
};
use serde::Serialize;
use serde_json::Value;

use super::links::Links;

/// No ceiling is lower: with less nobody knows any more whether the link is free again, bit/s.
const LEAST: Bitrate = Bitrate::kbps(8);

/// What becomes of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adapt {
    /// There is none.
    Off,
    /// It is said.
    #[default]
    Advise,
    /// It is said, and this program does it.
    Obey,
}

impl Adapt {
    /// For programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Advise => "advise",
            Self::Obey => "obey",
        }
    }
}

/// What is advised for one link now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advised {
    /// Send no more, bit/s.
    pub ceiling_bps: u64,
    /// Seconds for which that holds, unless it is said again.
    pub left: f64,
    /// The evidence.
    pub why: String,
}

impl Advised {
    /// All advice in a document of a page, for links of which `wanted` holds.
    pub fn read(document: &Value, wanted: impl Fn(&str) -> bool) -> Option<(u64, Duration)> {
        let all = document["advice"].as_object().into_iter().flatten();
        let one = |(link, advice): (&String, &Value)| {
            let ceiling = advice["ceiling_bps"].as_u64().filter(|ceiling| *ceiling > 0)?;
            let left = advice["left"].as_f64().filter(|left| (0.0..=3600.0).contains(left))?;
            wanted(link).then(|| (ceiling, Duration::from_secs_f64(left)))
        };
        all.filter_map(one).min()
    }
}

#[derive(Debug)]
struct One {
    adviser: Adviser,
    most: u64,
    ceiling: Option<(Bitrate, Time, String)>,
}

/// An adviser for each link.
#[derive(Debug)]
pub(super) struct Advisers {
    adapt: Adapt,
    links: BTreeMap<String, One>,
    /// Ceilings that were given, and raised.
    pub(super) given: u64,
}

impl Advisers {
    pub(super) fn new(adapt: Adapt) -> Self {
        Self { adapt, links: BTreeMap::new(), given: 0 }
    }

    pub(super) fn adapt(&self) -> Adapt {
        self.adapt
    }

    pub(super) fn least(&self) -> Option<u64> {
        let ceilings = self.links.values().filter_map(|one| one.ceiling.as_ref());
        ceilings.map(|(rate, ..)| rate.as_bps()).min()
    }

    pub(super) fn look(&mut self, now: Duration, links: &Links) -> BTreeMap<String, Advised> {
        if self.adapt == Adapt::Off {
            return BTreeMap::new();
        }
        let now = Time::ZERO.plus(now);
        for (name, link) in links {
            let Some((capacity, used)) = link.capacity_bps.zip(link.used) else { continue };
            let one = self.links.entry(name.clone()).or_insert_with(|| one(capacity));
            if one.most != capacity {
                *one = self::one(capacity);
            }
            // Round trips are of pairs of addresses, and nobody says over which link they went.
            let sight = Sight { capacity: capacity as f64, used, stretch: 1.0 };
            match one.adviser.on_sight(now, sight) {
                Some(Advice::Ceiling(rate, until)) => {
                    let why = format!("{:.0} % of {capacity} bit/s used", used * 100.0);
                    one.ceiling = Some((rate, until, why));
                    self.given += 1;
                }
                Some(Advice::Free) => one.ceiling = None,
                None => {}
            }
        }
        self.links.retain(|name, _| links.contains_key(name));
        let advised = |(name, one): (&String, &mut One)| {
            // A lease that nobody has renewed is over.
            one.ceiling.take_if(|(_, until, _)| *until <= now);
            let (rate, until, why) = one.ceiling.clone()?;
            let left = until.since(now).as_secs_f64().round();
            Some((name.clone(), Advised { ceiling_bps: rate.as_bps(), left, why }))
        };
        self.links.iter_mut().filter_map(advised).collect()
    }
}

fn one(capacity: u64) -> One {
    let bounds = Bounds { least: LEAST, most: Bitrate::bps(capacity) };
    One { adviser: Adviser::new(bounds), most: capacity, ceiling: None }
}
