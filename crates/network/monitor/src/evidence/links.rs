//! How full each link is: an interface of a sensor's machine, or of an SNMP agent.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::sensors::Reports;

/// Links that are followed.
const LINKS_MAX: usize = 256;
/// A link of which more is used is full (design, 2.8).
const FULL: f64 = 0.9;
/// An agent that has only 32 bits for a speed says so that it is this or more (ifSpeed of RFC 2863).
const OR_MORE: u64 = u32::MAX as u64;

/// What links carry, by the name of the interface, or of sensor and interface ("north/eth0"), bit/s.
pub type Capacities = BTreeMap<String, u64>;

/// Links by their names.
pub(super) type Links = BTreeMap<String, Link>;

/// One link, as it is now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Link {
    /// What it carries, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capacity_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) out_bps: Option<u64>,
    /// The used share of the busier direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) drops: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) up: Option<bool>,
    pub(super) state: &'static str,
}

impl Link {
    pub(super) fn is_full(&self) -> bool {
        self.used.is_some_and(|used| used > FULL)
    }
}

/// All links of all sensors that speak.
pub(super) fn links(reports: &Reports, capacities: &Capacities) -> Links {
    let mut links = Links::new();
    let mut add = |name: String, interface: &str, told: &Value| {
        let given = capacities.get(&name).or_else(|| capacities.get(interface)).copied();
        // A loopback leads nowhere. The speed that some agents give it is made up.
        let is_link = told["loopback"] != true || given.is_some();
        if links.len() < LINKS_MAX && is_link {
            links.insert(name, link(told, given));
        }
    };
    for (sensor, (report, _)) in reports.iter().filter(|(_, (_, silent))| !silent) {
        for (interface, told) in report["interfaces"].as_object().into_iter().flatten() {
            add(format!("{sensor}/{interface}"), interface, told);
        }
        for (address, agent) in report["agents"].as_object().into_iter().flatten() {
            for (interface, told) in agent["interfaces"].as_object().into_iter().flatten() {
                add(format!("{address}/{interface}"), interface, told);
            }
        }
    }
    links
}

fn link(told: &Value, given: Option<u64>) -> Link {
    let number = |field: &str| told[field].as_u64();
    let capacity = number("speed_bps").filter(|speed| *speed != OR_MORE);
    let capacity = given.or(capacity).filter(|capacity| *capacity > 0);
    let (received, sent) = (number("in_bps"), number("out_bps"));
    let used = capacity.zip(received.max(sent));
    let used = used.map(|(capacity, busier)| {
        // A counter is read a moment sooner or later: a little more than all is all.
        (busier as f64 / capacity as f64 * 1000.0).round() / 1000.0
    });
    let up = told["up"].as_bool();
    let state = match (up, used) {
        (Some(false), _) => "down",
        (_, Some(used)) if used > FULL => "saturated",
        (_, Some(_)) => "good",
        (_, None) => "unknown",
    };
    Link {
        capacity_bps: capacity,
        in_bps: received,
        out_bps: sent,
        used,
        drops: number("drops"),
        up,
        state,
    }
}
