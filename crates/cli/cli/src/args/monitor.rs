//! `--monitor`: what a member of a group tells of itself, and a page of what the others tell.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fanfare_command::{Failure, units};
use fanfare_node::{monitor::Config, proto::Bitrate};

use fanfare_monitor::{
    evidence::{Adapt, Capacities},
    group::Placed,
};

use super::watch::page_at;
use crate::{monitoring::MonitorPlan, watching::WatchPlan};

/// Rate that a channel is taken to carry where nobody has said. Monitors take a share of it that a slow LAN bears.
const CHANNEL: Bitrate = Bitrate::mbps(10);

/// Options of a member that has a monitor.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Monitor")]
pub(crate) struct MonitorArgs {
    /// Tell other nodes of this one, and show all of them on a page [default: 127.0.0.1:7979]
    ///
    /// Nodes with this option tell each other what they send, hear and lose, and how busy they are, in a
    /// small share of the channel. A browser on this machine shows the page, 'fanfare watch' shows it
    /// in a terminal. Write --monitor=ADDR for another address.
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    monitor: Option<String>,
    /// Share of the channel for what all monitors say together
    #[arg(long, default_value = "2%", value_name = "PERCENT", hide_short_help = true)]
    monitor_share: String,
    /// Rate that the channel carries [default: --rate, or 10M]
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    monitor_capacity: Option<String>,
    /// Show the page only to those who have the token in this file
    #[arg(long, value_name = "FILE", requires = "monitor", hide_short_help = true)]
    monitor_token: Option<PathBuf>,
    /// Name of the proxy with TLS through which others reach the page
    #[arg(long, value_name = "NAME", requires = "monitor_token", hide_short_help = true)]
    monitor_proxy: Option<String>,
    /// Take reports of sensors at this local socket, and show them too
    ///
    /// 'fanfare sensor --to SOCKET' sends them. What is full is then told, and a ceiling is advised.
    #[arg(long, value_name = "SOCKET", hide_short_help = true)]
    monitor_sensors: Option<PathBuf>,
    /// What a link carries, where its interface does not say so: eth0=256k; repeat it for more
    #[arg(long, value_name = "LINK=RATE", requires = "monitor_sensors", hide_short_help = true)]
    monitor_link: Vec<String>,
    /// Where a node stands, in degrees, for the map: pc1=47.3769,8.5417; repeat it for more
    #[arg(long, value_name = "NODE=LAT,LON", allow_hyphen_values = true, hide_short_help = true)]
    monitor_place: Vec<Placed>,
    /// What becomes of advice about links that are full
    #[arg(long, value_name = "HOW", default_value = "advise", hide_short_help = true)]
    monitor_adapt: Adapting,
    /// Keep what was measured in this directory: a day of ten seconds, thirty days of five minutes
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    monitor_history: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Adapting {
    /// There is none
    Off,
    /// It is said on the page
    Advise,
    /// It is said, and this node sends no more than that
    Obey,
}

impl MonitorArgs {
    /// What is wanted; a channel carries `rate` if nothing else is said.
    pub(crate) fn plan(&self, rate: Option<Bitrate>) -> Result<Option<MonitorPlan>, Failure> {
        match &self.monitor {
            Some(address) => self.plan_at(address, rate).map(Some),
            None => Ok(None),
        }
    }

    /// The same of a command that is nothing but a monitor.
    pub(crate) fn plan_always(&self, rate: Option<Bitrate>) -> Result<MonitorPlan, Failure> {
        self.plan_at(self.monitor.as_deref().unwrap_or_default(), rate)
    }

    fn plan_at(&self, address: &str, rate: Option<Bitrate>) -> Result<MonitorPlan, Failure> {
        let (address, is_given) = page_at("monitor", address)?;
        let (token, proxy) = (self.monitor_token.clone(), self.monitor_proxy.clone());
        let page = WatchPlan { address, is_given, token, proxy };
        let capacity = self.monitor_capacity.as_deref();
        let capacity = capacity.map(|text| units::rate_of("monitor-capacity", text)).transpose()?;
        let config = Config {
            capacity: capacity.or(rate).unwrap_or(CHANNEL),
            per_mille: per_mille(&self.monitor_share)?,
            ..Config::default()
        };
        let links = self.monitor_link.iter().map(|text| link(text));
        let capacities = links.collect::<Result<Capacities, Failure>>()?;
        let adapt = match self.monitor_adapt {
            Adapting::Off => Adapt::Off,
            Adapting::Advise => Adapt::Advise,
            Adapting::Obey => Adapt::Obey,
        };
        let (sensors, history) = (self.monitor_sensors.clone(), self.monitor_history.clone());
        let places = self.monitor_place.clone();
        Ok(MonitorPlan { page, config, sensors, capacities, adapt, history, places })
    }
}

/// `eth0=256k`, or `north/eth0=256k`.
fn link(text: &str) -> Result<(String, u64), Failure> {
    let Some((name, rate)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let text = format!("monitor-link ({text}): no link and rate. Use eth0=256k");
        return Err(Failure::usage("monitor.invalid", text));
    };
    let rate = units::rate_of("monitor-link", rate)?;
    Ok((name.to_owned(), rate.as_bps()))
}

/// `2%`, or `0.5%`.
fn per_mille(text: &str) -> Result<u16, Failure> {
    let percent = text.trim_end_matches('%').trim().parse::<f64>().ok();
    match percent.map(|percent| (percent * 10.0).round()) {
        Some(share) if (1.0..=500.0).contains(&share) => Ok(share as u16),
        _ => {
            let text =
                format!("monitor-share ({text}): not from 0.1% to 50%. Use 2%, or less on radios");
            Err(Failure::usage("monitor.invalid", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_a_name_and_a_rate() {
        assert_eq!(link("north/eth0=256k").unwrap(), ("north/eth0".to_owned(), 256_000));
        for wrong in ["eth0", "=5k", "eth0=x"] {
            assert!(link(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_is_read_in_tenths_of_a_percent() {
        assert_eq!((per_mille("2%").unwrap(), per_mille("0.5").unwrap()), (20, 5));
        for wrong in ["0%", "60%", "x", "-1%", "NaN"] {
            assert!(per_mille(wrong).unwrap_err().to_string().contains("0.1% to 50%"), "{wrong}");
        }
    }
}
