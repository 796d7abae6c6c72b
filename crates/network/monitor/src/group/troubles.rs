//! What is wrong in a group, by the rules of the monitor.

use std::{collections::BTreeMap, time::Duration};

use fanfare_messaging::monitor::alert::{Outcome, Reference, Rule, Trigger, Watcher};

use super::view::{Heard, Seen};
use crate::transfer::{Alert, Alerts, Severity};

/// Fewer sevenths are no way on which to count; with as many it is one.
const LITTLE: u8 = 1;
const ENOUGH: u8 = 4;
/// What lasts so long is no accident.
const LASTS: Duration = Duration::from_secs(10);

/// A number of a node, and the rule that it is followed by.
#[derive(Debug)]
struct Followed {
    cause: &'static str,
    text: &'static str,
    advice: &'static str,
    number: fn(&fanfare_messaging::monitor::Facts) -> Option<f64>,
    watcher: Watcher<u32>,
    active: BTreeMap<u32, f64>,
}

/// The alerts of a group.
#[derive(Debug)]
pub(super) struct Troubles {
    followed: Vec<Followed>,
    alerts: Alerts,
}

impl Default for Troubles {
    fn default() -> Self {
        let rule = |trigger| {
            let rule = Rule { trigger, reference: Reference::First, hold: Duration::ZERO };
            (Watcher::new(rule), BTreeMap::new())
        };
        let follow = |cause, (text, advice), number, trigger| {
            let (watcher, active) = rule(trigger);
            Followed { cause, text, advice, number, watcher, active }
        };
        let followed = vec![
            follow(
                "busy",
                ("{} is busy: its processors are used to", "Stop other work on {}"),
                |facts| facts.processor,
                Trigger::Above(0.95, LASTS),
            ),
            follow(
                "memory-short",
                ("{} is short of memory: it is used to", "Stop other programs on {}"),
                |facts| facts.memory,
                Trigger::Above(0.95, LASTS),
            ),
            follow(
                "battery-low",
                ("the battery of {} is low: what is left is", "Charge it"),
                |facts| facts.battery,
                Trigger::Below(0.2, LASTS),
            ),
            follow(
                "lossy-path",
                ("{} loses much of what others send:", "Check its radio, its antenna or its cable"),
                |facts| facts.loss,
                Trigger::Above(0.2, LASTS),
            ),
        ];
        Self { followed, alerts: Alerts::default() }
    }
}

impl Troubles {
    pub(super) fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// Looks at what is known now.
    pub(super) fn look(
        &mut self,
        now: Duration,
        own: u32,
        seen: &Seen,
        labels: &BTreeMap<u32, String>,
    ) {
        let mut found = Vec::new();
        let alert = |cause, id: u32, text: String, advice: &str| {
            let subject = labels.get(&id).cloned().unwrap_or_default();
            Alert {
                cause,
                severity: Severity::Warning,
                id: Some(u64::from(id)),
                text: text.replace("{}", &subject),
                advice: advice.replace("{}", &subject),
                subject,
                since: now.as_secs_f64(),
                lasting: false,
            }
        };
        for node in seen.nodes.iter().filter(|node| node.silent && node.id != own) {
            let text = "{} is silent: nothing is heard of it any more".to_owned();
            found.push(alert("silent", node.id, text, "Look whether {} is on, and within reach"));
        }
        for (deaf, unheard) in one_way(&seen.hearing) {
            let known = labels.contains_key(&deaf) && labels.contains_key(&unheard);
            if known {
                let text = format!("{{}} does not hear {}, which hears it", labels[&unheard]);
                let advice = "Check the antenna or the firewall of {}";
                found.push(alert("one-way", deaf, text, advice));
            }
        }
        let time = fanfare_time(now);
        for one in &mut self.followed {
            for node in seen.nodes.iter().filter(|node| !node.silent) {
                let Some(value) = (one.number)(&node.facts) else { continue };
                match one.watcher.on_value(time, node.id, value) {
                    Some(Outcome::Fired(_)) => drop(one.active.insert(node.id, value)),
                    Some(Outcome::Cleared) => drop(one.active.remove(&node.id)),
                    None => {}
                }
                if one.active.contains_key(&node.id) {
                    let text = format!("{} {:.0} %", one.text, value * 100.0);
                    found.push(alert(one.cause, node.id, text, one.advice));
                }
            }
        }
        self.alerts.on_found(now, found);
    }
}

fn fanfare_time(now: Duration) -> fanfare_messaging::monitor::Time {
    fanfare_messaging::monitor::Time::ZERO.plus(now)
}

/// Pairs of which one hears the other well, and the other says that it hears little of it: who is deaf, and
/// whom it does not hear. Silence about a pair is no evidence.
fn one_way(hearing: &[Heard]) -> Vec<(u32, u32)> {
    let sevenths: BTreeMap<(u32, u32), u8> =
        hearing.iter().map(|heard| ((heard.who, heard.whom), heard.sevenths)).collect();
    let is_deaf = |heard: &&Heard| {
        let back = sevenths.get(&(heard.whom, heard.who));
        heard.sevenths >= ENOUGH && back.is_some_and(|back| *back <= LITTLE)
    };
    hearing.iter().filter(is_deaf).map(|heard| (heard.whom, heard.who)).collect()
}
