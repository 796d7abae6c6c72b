//! The sender: which packet of which layer goes when. It sends the same whoever receives.

use super::{
    Announcement, Channel, Echo, Header, Layers, RttRequest, Scheme, SchemeError, SendPattern,
    round_trip::Answers,
    subscription::{Cycle, channel_of},
    timing::{BURST_PACKETS, SLOT},
    webrc::{WaveShape, source::WaveSource},
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

/// A packet goes within this share of its period after it is due: sources in step would hit a full
/// queue, or spare it, always alike (Floyd and Jacobson 1992).
const SPREAD: f64 = 0.05;
/// Beginnings of layers are spread over their periods by the golden section.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// RLC: packets of the base layer between its synchronisation points, and in a burst. The thesis
/// gives none; 8 is in the authors' paper (Vicisano, Rizzo and Crowcroft 1998).
pub(super) const SYNC_PACKETS: f64 = 8.0;

/// Bytes of IPv4 and UDP before an announcement.
const HEADERS: usize = 28;

/// A session as its application describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// Layers.
    pub scheme: Scheme,
    /// How packets follow each other.
    pub send_pattern: SendPattern,
    /// The adaptation interval (RAI).
    pub interval: Duration,
    /// An announcement every so many of them.
    pub every: u8,
    /// Bytes of a packet on the wire.
    pub packet: u16,
    /// Bytes of the object.
    pub object: u64,
    /// The first channel's group.
    pub group: SocketAddr,
    /// FLID-DL: the round trip of the TCP flow that it grows like.
    pub rtt: Duration,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Outgoing {
    /// On the session's own channel.
    Announcement(Header, Announcement),
    /// On a layer's.
    Data(Header),
}

/// A layer's schedule.
#[derive(Debug)]
struct Line {
    /// Seconds from the start at which the next packet is due, were the pace even.
    due: f64,
    at: Time,
    /// The first of a pair has gone.
    second: bool,
    /// RLC: synchronisation points so far.
    syncs: u64,
}

/// A layered sender.
#[derive(Debug)]
pub struct LayeredSource {
    config: SourceConfig,
    layers: Layers,
    rng: Rng,
    started: Time,
    lines: Vec<Line>,
    sequences: Vec<u32>,
    /// How dynamic layers go round.
    cycle: Cycle,
    /// Waves have a schedule of their own.
    waves: Option<WaveSource>,
    slot: u32,
    signal: u8,
    announce_at: Time,
    answers: Answers,
}

impl LayeredSource {
    /// A sender that begins now.
    ///
    /// # Errors
    /// When the layers are such as no session may have.
    pub fn new(config: SourceConfig, seed: u64, now: Time) -> Result<Self, SchemeError> {
        let layers = config.scheme.layers()?;
        let channels = layers.count() + usize::from(config.send_pattern.quiet_slots());
        let waves = (config.send_pattern == SendPattern::Waves)
            .then(|| WaveSource::new(WaveShape::of(&layers, config.packet), seed, now));
        let mut source = Self {
            rng: Rng::new(seed),
            started: now,
            lines: Vec::new(),
            sequences: alloc::vec![0; channels + 1],
            cycle: Cycle::of(config.send_pattern, layers.count()),
            waves,
            slot: 0,
            signal: 0,
            announce_at: now,
            answers: Answers::default(),
            layers,
            config,
        };
        let first = source.rng.unit();
        for layer in 0..source.layers.count() {
            let due = source.period(layer) * ((first + layer as f64 * GOLDEN) % 1.0);
            source.lines.push(Line { due, at: now, second: false, syncs: 0 });
            source.plan(layer);
        }
        source.draw_signal();
        Ok(source)
    }

    /// Seconds between packets, or pairs, of a layer.
    fn period(&self, layer: usize) -> f64 {
        let packets = if self.config.send_pattern == SendPattern::Pairs { 2.0 } else { 1.0 };
        packets * 8.0 * f64::from(self.config.packet) / self.layers.rate(layer)
    }
    /// RLC: seconds between a layer's synchronisation points, and a burst's length.
    fn sync_times(&self, layer: usize) -> (f64, f64) {
        let packet = 8.0 * f64::from(self.config.packet) / self.layers.sum(1);
        (
            SYNC_PACKETS * packet * self.layers.sum(layer + 1) / self.layers.sum(1),
            BURST_PACKETS * packet,
        )
    }

    /// Sets when a layer's next packet goes.
    fn plan(&mut self, layer: usize) {
        let jitter = SPREAD * self.rng.unit() * self.period(layer);
        let mut due = self.lines[layer].due + jitter;
        if self.config.send_pattern == SendPattern::Bursts {
            let (period, burst) = self.sync_times(layer);
            let into = due % period - (period - 2.0 * burst);
            // What was due in two bursts' time goes in the first half of it.
            due -= (into / 2.0).max(0.0);
        }
        self.lines[layer].at = self.started + Duration::from_secs_f64(due);
    }

    /// A receiver wants to know its round trip.
    pub fn on_rtt_request(&mut self, now: Time, question: RttRequest) {
        self.answers.on_rtt_request(now, question);
    }
    /// When the next packet goes.
    #[must_use]
    pub fn next_timeout(&self) -> Time {
        if let Some(waves) = &self.waves {
            return waves.next_timeout().min(self.announce_at);
        }
        self.lines.iter().map(|line| line.at).fold(self.announce_at, Time::min)
    }

    /// The next packet that goes now.
    pub fn poll_packet(&mut self, now: Time) -> Option<(Channel, Outgoing)> {
        self.turn_slot(now);
        if self.announce_at <= now {
            let announcement = self.announce(now);
            let header = self.header(now, Channel::SESSION, 0);
            return Some((Channel::SESSION, Outgoing::Announcement(header, announcement)));
        }
        if let Some(waves) = &mut self.waves {
            let header = waves.poll(now)?;
            return Some((header.channel, Outgoing::Data(header)));
        }
        let line = self.lines.iter().enumerate().min_by_key(|(_, line)| line.at)?;
        let layer = (line.1.at <= now).then_some(line.0)?;
        let header = self.data(now, layer);
        Some((header.channel, Outgoing::Data(header)))
    }

    fn announce(&mut self, now: Time) -> Announcement {
        self.announce_at = self.announce_at + self.config.interval * u32::from(self.config.every);
        let (echoes, ask_share) = self.answers.take(now);
        let announcement = self.announcement(echoes, ask_share);
        self.on_extra(announcement.wire_bytes() + HEADERS);
        announcement
    }
    /// So many bytes go besides what layers carry. They take their place in the base layer's rate, so that
    /// the sum stays what it is. Only WEBRC's base channel is too slow for that: there, the description
    /// of a session is no part of its rate (RFC 3738 3).
    pub fn on_extra(&mut self, bytes: usize) {
        self.lines[0].due += 8.0 * bytes as f64 / self.layers.rate(0);
    }
    fn announcement(&self, echoes: Vec<Echo>, ask_share: u16) -> Announcement {
        let SourceConfig { scheme, send_pattern, interval, every, packet, object, group, .. } =
            self.config.clone();
        Announcement {
            send_pattern,
            interval,
            every,
            packet,
            ask_share,
            object,
            group,
            scheme,
            echoes,
        }
    }

    /// The next packet's of a channel.
    fn header(&mut self, now: Time, channel: Channel, layer: u8) -> Header {
        let next = &mut self.sequences[usize::from(channel.0)];
        let sequence = core::mem::replace(next, next.wrapping_add(1));
        let (slot, first_of_pair) = (self.slot, false);
        Header { channel, layer, sequence, sent: now, first_of_pair, slot, signal: 0 }
    }

    fn data(&mut self, now: Time, layer: usize) -> Header {
        let is_pair = self.config.send_pattern == SendPattern::Pairs;
        let first_of_pair = is_pair && !self.lines[layer].second;
        let channel = channel_of(layer, self.slot, self.cycle);
        let header = self.header(now, channel, layer as u8);
        let signal = self.signal_of(layer);
        self.lines[layer].second = first_of_pair;
        if !first_of_pair {
            self.lines[layer].due += self.period(layer);
            self.plan(layer);
        }
        Header { first_of_pair, signal, ..header }
    }

    fn signal_of(&mut self, layer: usize) -> u8 {
        match self.config.send_pattern {
            SendPattern::Slots => self.signal,
            SendPattern::Bursts => {
                let syncs = (self.lines[layer].due / self.sync_times(layer).0) as u64;
                let is_new = core::mem::replace(&mut self.lines[layer].syncs, syncs) < syncs;
                if is_new { layer as u8 + 2 } else { 0 }
            }
            SendPattern::Pairs | SendPattern::Even | SendPattern::Waves => 0,
        }
    }

    fn turn_slot(&mut self, now: Time) {
        if let Some(waves) = &self.waves {
            self.slot = waves.slot(now);
            return;
        }
        let slot = (now.since(self.started).as_nanos() / SLOT.as_nanos()) as u32;
        if self.cycle.turns() && slot != self.slot {
            self.slot = slot;
            self.draw_signal();
        }
    }
    /// FLID-DL: up to which level may receivers grow after this slot? A level's chance is such that
    /// its mean growth is a TCP flow's, a packet a round trip (thesis 4.4; the figures are ours).
    fn draw_signal(&mut self) {
        let rtt = self.config.rtt.as_secs_f64().max(1e-3);
        let gain = SLOT.as_secs_f64() * 8.0 * f64::from(self.config.packet) / (rtt * rtt);
        let draw = self.rng.unit();
        let may_grow = |level: &usize| gain / self.layers.rate(*level).max(1.0) > draw;
        let levels = (1..self.layers.count()).take_while(may_grow).count();
        self.signal = if levels == 0 { 0 } else { levels as u8 + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::rate::Bitrate;

    fn config(send_pattern: SendPattern, scheme: Scheme) -> SourceConfig {
        SourceConfig {
            scheme,
            send_pattern,
            interval: Duration::from_secs(1),
            every: 1,
            packet: 512,
            object: 0,
            group: "239.255.43.0:6100".parse().unwrap(),
            rtt: Duration::from_millis(60),
        }
    }
    fn equal() -> Scheme {
        Scheme::Equal { rate: Bitrate::kbps(20), count: 10 }
    }
    /// All packets of so many seconds, with their times.
    fn sent(config: SourceConfig, seconds: u64) -> Vec<(Time, Outgoing)> {
        let mut source = LayeredSource::new(config, 1, Time::ZERO).unwrap();
        let (end, mut out) = (Time::ZERO + Duration::from_secs(seconds), Vec::new());
        while source.next_timeout() < end {
            let now = source.next_timeout();
            while let Some((_, packet)) = source.poll_packet(now) {
                out.push((now, packet));
            }
        }
        out
    }
    fn data(packets: &[(Time, Outgoing)]) -> Vec<(Time, Header)> {
        let data = |(at, packet): &(Time, Outgoing)| match packet {
            Outgoing::Data(header) => Some((*at, *header)),
            Outgoing::Announcement(..) => None,
        };
        packets.iter().filter_map(data).collect()
    }

    #[test]
    fn every_layer_has_its_rate_and_announcements_take_theirs_from_the_first() {
        let packets = sent(config(SendPattern::Pairs, equal()), 100);
        let bits = |layer| {
            let of = |(_, header): &&(Time, Header)| header.layer == layer;
            data(&packets).iter().filter(of).count() as f64 * 4096.0
        };
        assert!((bits(5) / 2e6 - 1.0).abs() < 0.01, "{}", bits(5));
        let announced: usize = packets
            .iter()
            .map(|(_, packet)| match packet {
                Outgoing::Announcement(_, a) => a.wire_bytes() + HEADERS,
                Outgoing::Data(_) => 0,
            })
            .sum();
        let base = bits(0) + 8.0 * announced as f64;
        assert!(announced > 4000 && (base / 2e6 - 1.0).abs() < 0.01, "{base} {announced}");
    }

    #[test]
    fn pairs_go_back_to_back() {
        let packets = data(&sent(config(SendPattern::Pairs, equal()), 10));
        let pairs = packets.windows(2).filter(|two| two[0].1.first_of_pair);
        assert!(pairs.clone().count() > 200);
        assert!(pairs.clone().all(|two| {
            let (first, second) = (two[0].1, two[1].1);
            two[0].0 == two[1].0 && first.sequence + 1 == second.sequence && !second.first_of_pair
        }));
    }

    #[test]
    fn a_dynamic_channel_falls_layer_by_layer_and_is_silent_for_long_enough() {
        let scheme = Scheme::Multiplicative { base: Bitrate::kbps(96), factor: 1300, count: 6 };
        let packets = data(&sent(config(SendPattern::Slots, scheme), 26));
        let mut heard: Vec<(u32, u8)> = packets
            .iter()
            .filter(|(_, header)| header.channel == Channel(6))
            .map(|(_, header)| (header.slot, header.layer))
            .collect();
        heard.dedup();
        let first: Vec<u8> = heard.iter().filter(|(slot, _)| *slot < 10).map(|h| h.1).collect();
        assert_eq!(first, [5, 4, 3, 2, 1, 0]);
        // 26 channels, 6 of them sounding: the next turn is 26 slots later.
        assert_eq!(heard.iter().find(|(slot, _)| *slot > 10), Some(&(26, 5)));
    }

    #[test]
    fn before_a_synchronisation_point_a_layer_doubles_and_then_rests() {
        let packets =
            data(&sent(config(SendPattern::Bursts, Scheme::doubling(Bitrate::kbps(32), 3)), 60));
        let of_base: Vec<&(Time, Header)> = packets.iter().filter(|(_, h)| h.layer == 0).collect();
        let synced = of_base.iter().filter(|(_, header)| header.signal == 2).count();
        // Eight packets of 128 ms each.
        assert!((56..=59).contains(&synced), "{synced}");
        let in_part = |from: f64, to: f64| {
            let within =
                |(at, _): &&&(Time, Header)| (from..to).contains(&(at.as_secs_f64() % 1.024));
            of_base.iter().filter(within).count()
        };
        // The period's last quarter is silent, the one before has twice what the first has.
        let [first, burst, silent] =
            [in_part(0.0, 0.256), in_part(0.512, 0.768), in_part(0.768, 1.024)];
        assert!(silent == 0 && burst as f64 > 1.6 * first as f64, "{first} {burst} {silent}");
    }

    #[test]
    fn signals_to_grow_are_rarer_for_higher_levels() {
        let scheme = Scheme::Multiplicative { base: Bitrate::kbps(96), factor: 1300, count: 20 };
        let slow =
            SourceConfig { rtt: Duration::from_millis(300), ..config(SendPattern::Slots, scheme) };
        let mut slots = data(&sent(slow, 200));
        slots.dedup_by_key(|(_, header)| header.slot);
        let open_to = |level| slots.iter().filter(|(_, h)| level < h.signal).count();
        // 22.8 kbit/s a slot: below the second layer's 28.8 four in five, below the tenth's 235 one in ten.
        let share = |level| open_to(level) as f64 / slots.len() as f64;
        assert!(
            (share(1) - 0.79).abs() < 0.06 && (share(9) - 0.097).abs() < 0.05,
            "{} {}",
            share(1),
            share(9)
        );
    }
}
