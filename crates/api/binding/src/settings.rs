//! What options come to: a network, and how to send, receive, join, publish and subscribe there.

use std::time::Duration;

use fanfare::{
    GroupOptions, GroupSpec, Network, ReceiveOptions, SendOptions, files,
    groups::{self, Filter, Subscription},
    protocol::{CongestionControl, FecConfig, SenderConfig},
    stream::{self, StreamPolicy},
};

use crate::{
    error::Error,
    options::{Options, Purpose},
    words::Expected,
};

/// Blocks shorter than those of files: a loss is noticed at the end of its block. As `fanfare pipe` has it.
const STREAM_BLOCK: (u16, u16) = (64, 64);
/// Requests to a receiver before it is given up, at least; see `fanfare send`.
const REQUESTS: u32 = 50;
/// How long receivers are waited for, where the program does not say.
const WAIT: Duration = Duration::from_secs(30);
/// The same where anyone will do: somebody has answered by then, or nobody is there.
const ANYONE_WAIT: Duration = Duration::from_secs(10);

impl Options {
    /// Where a node takes part.
    pub(crate) fn network(&self, group: &str, purpose: Purpose) -> Result<Network, Error> {
        self.check(purpose)?;
        let spec = match purpose {
            // Members hear each other by multicast.
            Purpose::Join => group.parse::<GroupSpec>(),
            _ => GroupSpec::parse_unicast_too(group),
        };
        let spec = spec.map_err(|error| Error::mistake(error.to_string()))?;
        let mut network = Network::new(spec).test_drop(self.loss);
        if let Some(interface) = &self.interface {
            network = network.interface(interface);
        }
        if let Some(ttl) = self.ttl {
            network = network.ttl(ttl);
        }
        if let Some(node) = self.node {
            network = network.node_id(node);
        }
        network = network.sender_config(self.sender(purpose));
        Ok(match (self.segment, purpose) {
            (Some(_), _) => network,
            (None, Purpose::Join) => network.shorten_segment(),
            (None, _) => network.fit_segment(),
        })
    }

    fn sender(&self, purpose: Purpose) -> SenderConfig {
        let mut config = SenderConfig::default();
        if let Some(segment) = self.segment {
            config.segment_size = segment;
        }
        if let Purpose::Join = purpose {
            // Members answer each other.
            config.congestion = self.control.unwrap_or(CongestionControl::Auto);
            config.rate = self.rate.unwrap_or(match config.congestion {
                CongestionControl::Fixed => config.rate,
                _ => SenderConfig::RATE_MAX,
            });
            return config;
        }
        if let Purpose::SendStream | Purpose::ReceiveStream = purpose {
            let (source, parity) = STREAM_BLOCK;
            config.fec = FecConfig { source, parity, ..FecConfig::default() };
        }
        // What decides the rate needs answers.
        let asks = !self.one_way && (purpose != Purpose::SendStream || self.waits());
        let automatic = if asks { CongestionControl::Auto } else { CongestionControl::Fixed };
        config.congestion = self.control.unwrap_or(automatic);
        let otherwise = match config.congestion {
            CongestionControl::Fixed => config.rate,
            _ => SenderConfig::RATE_MAX,
        };
        config.rate = self.rate.unwrap_or(otherwise);
        if asks {
            (config.robust_factor, config.patience) = (REQUESTS, self.wait_time());
        }
        config
    }

    fn waits(&self) -> bool {
        !matches!(self.expect, None | Some(Expected::Nobody))
    }

    fn wait_time(&self) -> Duration {
        let anyone = matches!(self.expect, Some(Expected::Anyone));
        self.wait.unwrap_or(if anyone { ANYONE_WAIT } else { WAIT })
    }

    pub(crate) fn send_files(&self) -> Result<SendOptions, Error> {
        let expect = match &self.expect {
            None | Some(Expected::Anyone) => files::Expect::Anyone,
            Some(Expected::Count(count)) => files::Expect::Count(*count),
            Some(Expected::Names(names)) => files::Expect::Names(names.iter().cloned().collect()),
            Some(Expected::Nobody) => {
                let text = "expect (nobody): files are sent so with one-way. Set that";
                return Err(Error::mistake(text));
            }
        };
        let wait = match self.expect {
            None => self.wait.unwrap_or(ANYONE_WAIT),
            Some(_) => self.wait_time(),
        };
        Ok(SendOptions {
            expect,
            wait,
            one_way: self.one_way,
            sync: self.sync,
            carousel: self.carousel,
            name: self.name.clone(),
            ..SendOptions::default()
        })
    }

    pub(crate) fn receive_files(&self) -> ReceiveOptions {
        ReceiveOptions {
            name: self.name.clone(),
            conflict: self.conflict,
            create_dirs: self.create_dirs,
            until: self.until,
            timeout: self.timeout,
            ..ReceiveOptions::default()
        }
    }

    pub(crate) fn send_stream(&self) -> Result<stream::SendOptions, Error> {
        let expect = match &self.expect {
            None | Some(Expected::Nobody) => stream::Expect::Nobody,
            Some(Expected::Anyone) => stream::Expect::Anyone,
            Some(Expected::Count(count)) => stream::Expect::Count(*count),
            Some(Expected::Names(names)) => stream::Expect::Names(names.clone()),
        };
        let policy = match (self.policy, self.waits()) {
            (Some(StreamPolicy::Lossless), false) => {
                let text = "policy (lossless): nobody is asked what has arrived. Set expect, too";
                return Err(Error::mistake(text));
            }
            (Some(StreamPolicy::Lossless), true) if self.lifetime.is_some() => {
                let text = "policy (lossless): with lifetime bytes may be left out. Use repaired";
                return Err(Error::mistake(text));
            }
            (Some(policy), _) => policy,
            (None, true) if self.lifetime.is_none() => StreamPolicy::Lossless,
            (None, _) => StreamPolicy::Repaired,
        };
        let defaults = stream::SendOptions::default();
        Ok(stream::SendOptions {
            expect,
            policy,
            buffer: self.buffer.unwrap_or(defaults.buffer),
            flush: self.flush,
            framing: self.framing,
            lifetime: self.lifetime,
            wait: self.wait_time(),
            ..defaults
        })
    }

    pub(crate) fn receive_stream(&self) -> stream::ReceiveOptions {
        let defaults = stream::ReceiveOptions::default();
        let most = self.message_max.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        stream::ReceiveOptions {
            name: self.name.clone(),
            start: self.start,
            framing: self.framing,
            unordered: self.unordered,
            lifetime: self.lifetime,
            message_max: most.unwrap_or(defaults.message_max),
            ..defaults
        }
    }

    pub(crate) fn member(&self) -> GroupOptions {
        let mut options = GroupOptions {
            cache_dir: self.cache_dir.clone(),
            name: self.name.clone(),
            ..GroupOptions::default()
        };
        options.message_max = self.message_max.unwrap_or(options.message_max);
        options.config.repair_rate = self.repair_rate.unwrap_or(options.config.repair_rate);
        options
    }

    pub(crate) fn publication(&self) -> Result<(groups::Options, groups::Watch), Error> {
        self.check(Purpose::Publish)?;
        let defaults = groups::Options::default();
        let options = groups::Options {
            priority: self.priority.unwrap_or(defaults.priority),
            expiry: self.expiry,
            tag: self.tag,
            replaces: self.replaces,
            ..defaults
        };
        let watch = if self.receipts { groups::Watch::Holders } else { groups::Watch::Nothing };
        Ok((options, watch))
    }

    pub(crate) fn subscription(&self, topics: &str) -> Result<Subscription, Error> {
        self.check(Purpose::Subscribe)?;
        let defaults = Subscription::new(Filter::new(topics)?);
        Ok(Subscription {
            reliable: !self.unreliable,
            ordering: self.ordering,
            priority_min: self.priority.unwrap_or(0),
            history: self.history,
            ..defaults
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare::protocol::Bitrate;

    fn options(pairs: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        pairs.iter().for_each(|(name, value)| options.set(name, value).unwrap());
        options
    }

    #[test]
    fn a_stream_that_somebody_is_waited_for_loses_nothing_and_finds_its_rate() {
        let with = options(&[("expect", "3")]);
        assert_eq!(with.send_stream().unwrap().policy, StreamPolicy::Lossless);
        assert_eq!(with.sender(Purpose::SendStream).congestion, CongestionControl::Auto);
        let without = options(&[]);
        assert_eq!(without.send_stream().unwrap().policy, StreamPolicy::Repaired);
        assert_eq!(without.sender(Purpose::SendStream).congestion, CongestionControl::Fixed);
    }

    #[test]
    fn a_member_repairs_at_no_more_than_it_was_told() {
        for (text, rate) in
            [("64k", Bitrate::kbps(64)), ("1M", Bitrate::mbps(1)), ("5000", Bitrate::bps(5000))]
        {
            let member = options(&[("repair-rate", text)]).member();
            assert_eq!(member.config.repair_rate, rate);
        }
        let without = options(&[]).member().config.repair_rate;
        assert_eq!(without, GroupOptions::default().config.repair_rate);
        assert!(Options::default().set("repair-rate", "fast").is_err());
    }

    #[test]
    fn what_cannot_be_together_is_refused() {
        assert!(options(&[("policy", "lossless")]).send_stream().is_err());
        let pairs = [("policy", "lossless"), ("expect", "2"), ("lifetime", "1s")];
        assert!(options(&pairs).send_stream().is_err());
        assert!(options(&[("expect", "nobody")]).send_files().is_err());
        assert!(options(&[]).subscription("a/#/b").is_err());
        let unicast = "127.0.0.1:6003";
        assert!(options(&[]).network(unicast, Purpose::Join).is_err());
        assert!(options(&[]).network(unicast, Purpose::SendFiles).is_ok());
    }
}
