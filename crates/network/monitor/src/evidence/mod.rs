//! What sensors tell, and what is advised by it: beside what nodes say of themselves.
//!
//! - `sensors`: a local socket that takes reports; `links`: how full each link is; `advice`: ceilings for
//!   senders, with leases

mod advice;
mod links;
mod sensors;

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

pub use advice::{Adapt, Advised};
pub use links::Capacities;
pub use sensors::Sensors;

use crate::transfer::{Alert, Alerts, Severity};
use advice::Advisers;

/// All of it, for one page.
#[derive(Debug)]
pub struct Evidence {
    sensors: Sensors,
    capacities: Capacities,
    advisers: Advisers,
    alerts: Alerts,
}

impl Evidence {
    /// Of these sensors; `capacities` are those of links that do not say them rightly.
    #[must_use]
    pub fn new(sensors: Sensors, capacities: Capacities, adapt: Adapt) -> Self {
        let advisers = Advisers::new(adapt);
        Self { sensors, capacities, advisers, alerts: Alerts::default() }
    }

    /// Adds what is known now to a document.
    pub(crate) fn add(&mut self, now: Duration, document: &mut Value) {
        let reports = self.sensors.known();
        let links = links::links(&reports, &self.capacities);
        let advised = self.advisers.look(now, &links);
        self.find(now, &reports, &links);
        let Some(fields) = document.as_object_mut() else { return };
        let sensors: BTreeMap<&String, Value> = reports
            .iter()
            .map(|(name, (report, silent))| {
                let mut report = report.clone();
                report["silent"] = json!(silent);
                (name, report)
            })
            .collect();
        fields.insert("sensors".to_owned(), json!(sensors));
        fields.insert("links".to_owned(), json!(links));
        fields.insert("advice".to_owned(), json!(advised));
        fields.insert("adapt".to_owned(), json!(self.advisers.adapt().name()));
        fields.insert("advice_given".to_owned(), json!(self.advisers.given));
        let alerts = fields.entry("alerts").or_insert_with(|| json!({}));
        if let Some(alerts) = alerts.as_object_mut() {
            let own = self.alerts.iter().map(|(key, alert)| (key.clone(), json!(alert)));
            alerts.extend(own);
        }
        let raised = fields.entry("alerts_raised").or_insert_with(|| json!({}));
        if let Some(raised) = raised.as_object_mut() {
            let own =
                self.alerts.raised.iter().map(|(cause, count)| ((*cause).to_owned(), json!(count)));
            raised.extend(own);
        }
    }

    /// The least ceiling that holds now: for the member that this page is of.
    #[must_use]
    pub fn ceiling(&self) -> Option<u64> {
        self.advisers.least()
    }

    fn find(&mut self, now: Duration, reports: &sensors::Reports, links: &links::Links) {
        let mut found = Vec::new();
        let alert = |cause, subject: &str, text: String, advice: &str| Alert {
            cause,
            severity: Severity::Warning,
            id: None,
            subject: subject.to_owned(),
            text,
            advice: advice.to_owned(),
            since: now.as_secs_f64(),
            lasting: false,
        };
        for (name, (report, silent)) in reports {
            if *silent {
                let text = format!("the sensor {name} is silent");
                let advice = "Look whether 'fanfare sensor' runs there";
                found.push(alert("sensor-silent", name, text, advice));
            }
            let dropped = report["packets"]["dropped"].as_u64().unwrap_or(0);
            if self.sensors.has_grown(name, dropped) {
                let text = format!("the sensor {name} misses packets: its numbers are too low");
                found.push(alert("sensor-missed", name, text, "Give it more --memory"));
            }
        }
        for (name, link) in links.iter().filter(|(_, link)| link.is_full()) {
            let used = link.used.unwrap_or(0.0) * 100.0;
            let text = format!("{name} is full: {used:.0} % of what it carries is used");
            let advice = "Send less, or let senders obey: fanfare send --adapt obey";
            found.push(alert("link-full", name, text, advice));
        }
        self.alerts.on_found(now, found);
    }
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
