//! One network of `fanfare bench rate`: its link, its path, its hosts, and the file.

use serde::Serialize;

/// One network, one file, and the rates that are told beside `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateCell {
    /// Its name, in options and tables.
    pub name: &'static str,
    /// What the link carries, bit/s; `None`: as much as this machine can.
    pub rate_bps: Option<u64>,
    /// There and back without queues, milliseconds. A LAN has 0.2.
    pub round_trip_ms: f64,
    /// The share of packets that each receiver loses, each for itself.
    pub loss: f64,
    /// Receivers.
    pub receivers: usize,
    /// What may wait before the link.
    pub buffer: Buffer,
    /// Bytes of the file.
    pub size: u64,
    /// The rates that are told with `--rate`, bit/s: the best of them counts. None here: shares of
    /// the link.
    #[serde(skip)]
    pub sweep: &'static [u64],
    /// The time that `fanfare send` without `--rate` should not exceed, milliseconds.
    pub limit_ms: Option<u32>,
    /// What else happens.
    pub condition: Condition,
}

/// What may wait before a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Buffer {
    /// There is no link to wait for.
    None,
    /// So many packets of 1500 bytes.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
    /// So many times the bandwidth-delay product, and 6 kB at least.
    Products(f64),
}

/// What else happens in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// Nothing.
    Quiet,
    /// Two processes for each processor count in a loop.
    Busy,
    /// `--rate` with this, bit/s, is in the place of no `--rate`: a ceiling far too high.
    Ceiling(u64),
    /// The link becomes this slow for some seconds, bit/s, and then as fast as before.
    Change(u64),
    /// The last receiver is behind a link this slow, bit/s. It comes later than the others, and goes
    /// before them.
    Comes(u64),
    /// So many TCP flows to the first receiver take the same link; `fair`: with a queue for each flow.
    Beside {
        /// TCP flows.
        flows: usize,
        /// A queue for each flow, in place of one for all.
        fair: bool,
    },
}

/// The round trip that stands for a local network, milliseconds. A bridge has less; the emulator
/// adds it.
pub(crate) const LAN_MS: f64 = 0.2;
/// A buffer of fewer than four packets is none that is built.
pub(super) const FLOOR: u64 = 6_000;
/// Bytes that a buffer of packets has for each.
const PACKET: u64 = 1_500;
/// Of a full packet: the file's bytes, and NORM's header, which `--rate` counts (docs/explanation/throughput.md).
const CONTENT: f64 = 1_400.0;
const COUNTED: f64 = 1_420.0;
/// IP and UDP headers; with Ethernet's on a token bucket, which counts frames.
const HEADERS: f64 = 28.0;
const FRAME_HEADERS: f64 = 42.0;
/// Shares of what a link can carry of `--rate` that are told. The first leaves room for repairs.
const SHARES: [f64; 2] = [0.95, 0.99];

impl RateCell {
    /// Whether the emulator is between the hosts, or a bridge of the kernel. The kernel's has neither
    /// delay nor loss, and is faster.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        let fair = matches!(self.condition, Condition::Beside { fair: true, .. });
        self.rate_bps.is_some() && (self.round_trip_ms > LAN_MS || self.loss > 0.0 || fair)
    }

    /// Whether only Fanfare's receivers lose packets, by themselves.
    pub(super) fn drops_by_itself(&self) -> bool {
        self.loss > 0.0 && !self.is_emulated()
    }

    /// The most that the bytes of a file can be of what the link carries: link x (1-p) less headers.
    #[must_use]
    pub fn carries_bps(&self) -> Option<f64> {
        let rate = self.rate_bps? as f64;
        Some(rate * (1.0 - self.loss) * CONTENT / (COUNTED + self.headers()))
    }

    /// The rates that are told, ascending.
    #[must_use]
    pub fn told(&self) -> Vec<u64> {
        let compared = !matches!(
            self.condition,
            Condition::Change(_) | Condition::Comes(_) | Condition::Beside { .. }
        );
        match self.rate_bps.filter(|_| self.sweep.is_empty() && compared) {
            None => self.sweep.to_vec(),
            Some(rate) => SHARES.map(|share| (self.counted_bps(rate) * share) as u64).to_vec(),
        }
    }

    /// What a link of this rate carries of what `--rate` counts, bit/s.
    pub(super) fn counted_bps(&self, rate: u64) -> f64 {
        rate as f64 * COUNTED / (COUNTED + self.headers())
    }

    /// Headers that `--rate` does not count and the link does.
    fn headers(&self) -> f64 {
        if self.is_emulated() { HEADERS } else { FRAME_HEADERS }
    }

    /// Bytes that may wait before the link; zero where there is no limit on it.
    #[must_use]
    pub fn queue_bytes(&self) -> u64 {
        let rate = self.rate_bps.unwrap_or(0) as f64;
        match self.buffer {
            Buffer::None => 0,
            Buffer::Packets(packets) => u64::from(packets) * PACKET,
            Buffer::Bytes(bytes) => bytes,
            Buffer::Products(share) => {
                ((rate / 8.0 * self.round_trip_ms / 1e3 * share) as u64).max(FLOOR)
            }
        }
    }

    /// The link's rate, or the highest that is told, bit/s.
    pub(super) fn fastest(&self) -> u64 {
        self.rate_bps.or(self.sweep.last().copied()).unwrap_or(1)
    }

    /// How long the file takes on the link, without anything lost, seconds.
    pub(super) fn on_the_wire(&self) -> f64 {
        (self.size * 8) as f64 / self.carries_bps().unwrap_or(self.fastest() as f64)
    }

    /// What a link of this rate may send at once, bytes. It covers a timer that is late by 0.25 ms. It
    /// is shorter than a super-packet of 64 KB, so that the kernel cuts long ones into packets. A slow
    /// link sends one packet at once: more would pass as if it were a fast one. Links whose rate changes
    /// keep their burst: a packet in the queue that is longer than a new burst would wait for ever.
    pub(super) fn burst(rate_bps: u64) -> u64 {
        let least = if rate_bps <= SLOW { 1_600 } else { 5_000 };
        (rate_bps / 8 / 4000).clamp(least, 32_000)
    }
}

/// A link no faster than this is slow, bit/s.
const SLOW: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str) -> RateCell {
        RateCell::chosen(&[name.to_owned()]).unwrap()[0]
    }

    #[test]
    fn a_link_carries_its_rate_less_what_is_lost_and_less_headers() {
        let bucket = cell("100M-3").carries_bps().unwrap();
        assert!((bucket - 1e8 * 1400.0 / 1462.0).abs() < 1.0, "{bucket}");
        let emulated = cell("1M-10ms-3").carries_bps().unwrap();
        assert!((emulated - 1e6 * 1400.0 / 1448.0).abs() < 1.0, "{emulated}");
        let lossy = cell("56k-10ms-10-four-loss10").carries_bps().unwrap();
        assert!((lossy - 56e3 * 0.9 * 1400.0 / 1448.0).abs() < 1.0, "{lossy}");
        assert_eq!(cell("free-3").carries_bps(), None);
    }

    #[test]
    fn a_bridge_serves_where_nothing_is_delayed_or_lost_on_a_link() {
        let is = |name| cell(name).is_emulated();
        assert!(!is("100M-3") && !is("free-3") && !is("free-3-loss1") && !is("small-1M"));
        assert!(is("10M-10ms-3") && is("100M-1-loss0.1") && is("beside-100M-1-fair"));
        assert!(!is("beside-100M-1") && cell("free-3-loss1").drops_by_itself());
    }

    #[test]
    fn a_buffer_is_in_packets_in_bytes_or_in_products_and_never_less_than_four_packets() {
        assert_eq!(cell("100M-3").queue_bytes(), 150_000);
        assert_eq!(cell("100M-3-long").queue_bytes(), 1_000_000);
        assert_eq!(cell("100M-50ms-3").queue_bytes(), 625_000);
        assert_eq!(cell("56k-10ms-3").queue_bytes(), FLOOR);
        assert_eq!(cell("free-3").queue_bytes(), 0);
    }

    #[test]
    fn what_is_told_fits_the_link_and_nothing_is_told_where_others_share_it() {
        // A full packet of 1420 counted bytes is 1462 on the line: 97.13 Mbit/s fill it.
        assert_eq!(cell("100M-3").told(), [92_270_861, 96_155_950]);
        assert!(cell("change-100M").told().is_empty() && cell("beside-1G-3").told().is_empty());
        assert_eq!(cell("free-3").told(), cell("free-3").sweep);
    }
}
