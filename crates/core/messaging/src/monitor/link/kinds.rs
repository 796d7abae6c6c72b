//! Kinds of links that are known, and what each is worth by the table of seed 002.

/// Bounds of T in ET, each the least of its band, the best first.
pub(super) const RATE_BANDS: [f64; 6] = [1.0, 0.9, 0.75, 0.5, 0.25, 0.1];
/// Bounds of L in EL, and then what is below all.
pub(super) const LATENCY_BANDS: [f64; 6] = [2.0, 1.2, 0.8, 0.5, 0.2, 0.1];

/// A kind of link: what it carries, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Bits per second that one gets of it.
    pub rate: f64,
    /// Seconds that a round trip takes when it is idle.
    pub latency: f64,
    /// Points for each band of rates, and for what is below all.
    pub(super) rate_points: [f64; 7],
    /// Points for each band of latencies.
    pub(super) latency_points: [f64; 7],
}

/// Those of seed 002 (tables 6.1 to 6.4).
pub const KINDS: [Kind; 3] = [
    Kind {
        name: "LAN",
        rate: 100e6,
        latency: 0.010,
        rate_points: [100.0, 90.0, 90.0, 80.0, 70.0, 60.0, 40.0],
        latency_points: [50.0, 100.0, 100.0, 90.0, 90.0, 90.0, 90.0],
    },
    Kind {
        name: "SATCOM",
        rate: 1e6,
        latency: 0.200,
        rate_points: [-20.0, 90.0, 100.0, 80.0, 70.0, 60.0, 40.0],
        latency_points: [100.0, 100.0, 100.0, 40.0, 30.0, 20.0, 10.0],
    },
    Kind {
        name: "HF",
        rate: 56e3,
        latency: 0.100,
        rate_points: [-20.0, 90.0, 100.0, 100.0, 100.0, 90.0, 80.0],
        latency_points: [60.0, 100.0, 100.0, 70.0, 40.0, 30.0, 20.0],
    },
];
