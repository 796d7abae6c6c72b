//! `[[gateway]]`: what a node carries between its groups.

use std::collections::BTreeMap;

use crate::local::topics::filter;
use crate::{Failure, units};
use fanfare_crypto::toml::{nearest, scalar};
use fanfare_node::{
    QueueLimit,
    messaging::{Filter, GatewayConfig},
};
use toml::de::{DeTable, DeValue};

use super::{
    page::{Page, Value, in_order},
    trial,
};
use crate::config::{gateway_options as gateway, gateway_plan::GatewayPlan};

/// What a gateway takes.
const GATEWAY_KEYS: [&str; 7] =
    ["groups", "topics", "rates", "standby", "learn", "queue", "queue-bytes"];

/// Reads one gateway.
pub(super) struct GatewayReader<'a, 't, 'd> {
    pub(super) own: &'t DeTable<'d>,
    pub(super) at: usize,
    pub(super) names: &'a [&'a str],
    pub(super) page: &'a Page<'a>,
}

impl<'t, 'd> GatewayReader<'_, 't, 'd> {
    pub(super) fn read(&self, others: &[GatewayPlan]) -> Option<GatewayPlan> {
        self.note_strangers();
        let groups = self.groups(others)?;
        let topics = self.by_group("topics", &groups, |_, list| {
            list.iter().map(|text| filter(text)).collect::<Result<Vec<Filter>, _>>()
        });
        let rates = self.by_group("rates", &groups, |key, list| match list {
            [one] => units::rate_of(key, one),
            _ => Err(Failure::usage("rate.invalid", format!("{key}: must be one rate"))),
        });
        let all = Filter::new("#").into_iter().collect::<Vec<_>>();
        let topics = groups.iter().map(|group| topics.get(group).unwrap_or(&all).clone());
        let usual = units::rate_of("rates", gateway::RATE).ok()?;
        let rates = groups.iter().map(|group| *rates.get(group).unwrap_or(&usual));
        let (topics, rates) = (topics.collect(), rates.collect());
        let times = self.times()?;
        Some(GatewayPlan { groups, topics, rates, times })
    }

    fn note_strangers(&self) {
        for (key, _) in in_order(self.own) {
            if GATEWAY_KEYS.contains(&key.get_ref().as_ref()) {
                continue;
            }
            let hint = match nearest(key.get_ref(), GATEWAY_KEYS) {
                Some(near) => format!(", did you mean '{near}'?"),
                None => format!(": a gateway takes {}", GATEWAY_KEYS.join(", ")),
            };
            self.page.note(key.span().start, &format!("unknown key '{}'", key.get_ref()), &hint);
        }
    }

    /// Those that it joins.
    fn groups(&self, others: &[GatewayPlan]) -> Option<Vec<usize>> {
        let Some(value) = self.own.get("groups") else {
            let why = ": names no groups. Add groups = [\"radio\", \"overlay\"]";
            self.page.note(self.at, "gateway", why);
            return None;
        };
        let names = texts(value.get_ref()).filter(|names| names.len() > 1);
        let Some(names) = names else {
            let why = ": must be names of two groups or more. Write [\"radio\", \"overlay\"]";
            self.page.note(value.span().start, "groups", why);
            return None;
        };
        let mut groups = Vec::new();
        for name in names {
            let why = match self.names.iter().position(|group| *group == name) {
                None => format!(": no group is called so. {}", self.known()),
                Some(group) if groups.contains(&group) => ": is named twice. Leave one out".into(),
                Some(group) if others.iter().any(|other| other.groups.contains(&group)) => {
                    ": is in another gateway, too; messages would not go from one to the other. Name all \
                     groups in one gateway"
                        .into()
                }
                Some(group) => {
                    groups.push(group);
                    continue;
                }
            };
            self.page.note(value.span().start, &format!("groups ({name})"), &why);
            return None;
        }
        Some(groups)
    }

    fn known(&self) -> String {
        format!("There are: {}", self.names.join(", "))
    }

    /// A value for all groups, or a table of one for each that is named.
    fn by_group<T: Clone>(
        &self,
        key: &str,
        groups: &[usize],
        understand: impl Fn(&str, &[&str]) -> Result<T, Failure>,
    ) -> BTreeMap<usize, T> {
        let mut all = BTreeMap::new();
        let Some(value) = self.own.get(key) else { return all };
        let one = |value: &Value<'_>| -> Option<T> {
            let at = value.span().start;
            let Some(list) = texts(value.get_ref()) else {
                self.page.note(at, key, ": must be text, a list of texts, or a table by group");
                return None;
            };
            let understood = understand(key, &list);
            understood.map_err(|why| trial::note_at(at, &list.join(", "), &why, self.page)).ok()
        };
        let Some(table) = value.get_ref().as_table() else {
            if let Some(value) = one(value) {
                all.extend(groups.iter().map(|group| (*group, value.clone())));
            }
            return all;
        };
        for (name, value) in in_order(table) {
            let group = self.names.iter().position(|known| *known == name.get_ref());
            match group.filter(|group| groups.contains(group)) {
                Some(group) => all.extend(one(value).map(|value| (group, value))),
                None => {
                    let what = format!("{key} ({})", name.get_ref());
                    self.page.note(
                        name.span().start,
                        &what,
                        ": no group of this gateway is called so",
                    );
                }
            }
        }
        all
    }

    fn times(&self) -> Option<GatewayConfig> {
        let text = |key: &str, default| match self.own.get(key).map(|value| value.get_ref()) {
            None => default,
            Some(value) => scalar(value).unwrap_or_default().to_owned(),
        };
        let (standby, learn) = (
            text("standby", gateway::STANDBY.to_owned()),
            text("learn", gateway::LEARN.to_owned()),
        );
        let queue = text("queue", gateway::QUEUE.to_owned());
        let queue_bytes = text("queue-bytes", gateway::QUEUE_BYTES.to_owned());
        let times = gateway::times(&standby, &learn).and_then(|times| {
            let limit = gateway::queue(&queue, &queue_bytes)?;
            let QueueLimit { messages: queue_messages, bytes: queue_bytes } = limit;
            Ok(GatewayConfig { queue_messages, queue_bytes, ..times })
        });
        let note = |why: Failure| {
            let (key, value) = match why.text.as_str() {
                text if text.starts_with("standby") => ("standby", &standby),
                text if text.starts_with("queue bytes") => ("queue-bytes", &queue_bytes),
                text if text.starts_with("queue") => ("queue", &queue),
                _ => ("learn", &learn),
            };
            let at = self.own.get(key).map_or(self.at, |value| value.span().start);
            trial::note_at(at, value, &why, self.page);
        };
        times.map_err(note).ok()
    }
}

/// One text, or a list of them.
fn texts<'v>(value: &'v DeValue<'_>) -> Option<Vec<&'v str>> {
    match value {
        DeValue::Array(list) => list.iter().map(|one| scalar(one.get_ref())).collect(),
        other => Some(vec![scalar(other)?]),
    }
}
