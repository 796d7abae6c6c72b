//! The election: by points, as in seed 002, or by likelihood.
//!
//! By points a full HF or satellite link is always taken for a LAN: at T >= ET they have -20 points for
//! the rate, and no latency mends that. By likelihood it is not.

use alloc::{collections::VecDeque, vec::Vec};

use super::kinds::{Kind, LATENCY_BANDS, RATE_BANDS};

/// Samples that are looked at together.
const WINDOW: usize = 8;
/// A kind is changed after so many windows in a row say so.
const IN_A_ROW: u32 = 3;
/// Use of a link, as a share of its rate, that is reckoned with. More use is likelier: by the square root.
const USE: (f64, f64) = (0.002, 1.1);
/// How far measured rates are off: uniform noise of 20 % has 11.5 %.
const RATE_SIGMA: f64 = 0.12;
/// Latency is known less well: from 0.7 to 1.5 of what is expected.
const LATENCY_SIGMA: f64 = 0.25;
/// Below this the best kind is none of those that are known.
const UNKNOWN: f64 = -8.0;

/// How it is elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// As in seed 002, for comparison.
    Table,
    /// By what is likeliest.
    #[default]
    Likelihood,
}

/// Who has won.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elected {
    /// Its place among the kinds; `None`: none of them.
    pub kind: Option<usize>,
    /// How sure it is, from 0 to 1; by points the lead over the second, in hundredths.
    pub posterior: f64,
}

/// Points of a kind for a rate (bit/s) and a latency (s) that were measured.
#[must_use]
pub fn points(kind: &Kind, rate: f64, latency: f64) -> f64 {
    let band = |value: f64, bounds: &[f64; 6]| bounds.iter().position(|least| value >= *least);
    let rate = band(rate / kind.rate, &RATE_BANDS).unwrap_or(6);
    let latency = band(latency / kind.latency, &LATENCY_BANDS).unwrap_or(6);
    kind.rate_points[rate] + kind.latency_points[latency]
}

/// The logarithm of how likely a kind shows this rate and this latency.
#[must_use]
pub fn likelihood(kind: &Kind, rate: f64, latency: f64) -> f64 {
    let used = libm::log(rate.max(1e-9) / kind.rate);
    let (least, most) = (libm::log(USE.0), libm::log(USE.1));
    // The density of the use, exp(y / 2) from least to most, smeared by a Gaussian.
    let shifted = used + 0.5 * RATE_SIGMA * RATE_SIGMA;
    let above = |bound: f64| normal((bound - shifted) / RATE_SIGMA);
    let mass = (above(most) - above(least)).max(1e-300);
    let whole = 2.0 * (libm::exp(0.5 * most) - libm::exp(0.5 * least));
    let of_rate = 0.5 * used + 0.125 * RATE_SIGMA * RATE_SIGMA + libm::log(mass) - libm::log(whole);
    let off = libm::log(latency.max(1e-9) / kind.latency) / LATENCY_SIGMA;
    let of_latency =
        -0.5 * off * off - libm::log(LATENCY_SIGMA * libm::sqrt(2.0 * core::f64::consts::PI));
    of_rate + of_latency
}

/// The share of a normal distribution below a value.
fn normal(value: f64) -> f64 {
    0.5 * libm::erfc(-value / core::f64::consts::SQRT_2)
}

/// What one sample says.
#[must_use]
pub fn elect(kinds: &[Kind], rule: Rule, rate: f64, latency: f64) -> Elected {
    let measure = match rule {
        Rule::Table => points,
        Rule::Likelihood => likelihood,
    };
    let scores: Vec<f64> = kinds.iter().map(|kind| measure(kind, rate, latency)).collect();
    let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let Some(best) = best else { return Elected { kind: None, posterior: 0.0 } };
    let others =
        || scores.iter().enumerate().filter(|(at, _)| *at != best).map(|(_, score)| *score);
    match rule {
        Rule::Table => {
            let second = others().fold(f64::NEG_INFINITY, f64::max);
            Elected { kind: Some(best), posterior: ((scores[best] - second) / 100.0).min(1.0) }
        }
        Rule::Likelihood => {
            let rest: f64 = others().map(|score| libm::exp(score - scores[best])).sum();
            let kind = Some(best).filter(|_| scores[best] >= UNKNOWN);
            Elected { kind, posterior: 1.0 / (1.0 + rest) }
        }
    }
}

/// An election that goes on.
#[derive(Debug, Clone)]
pub struct Election {
    kinds: Vec<Kind>,
    rule: Rule,
    samples: VecDeque<(f64, f64)>,
    now: Option<Elected>,
    /// Another kind, and how many windows in a row have said so.
    other: (Option<usize>, u32),
}

impl Election {
    /// Among these kinds.
    #[must_use]
    pub fn new(kinds: &[Kind], rule: Rule) -> Self {
        let (samples, other) = (VecDeque::new(), (None, 0));
        Self { kinds: kinds.to_vec(), rule, samples, now: None, other }
    }

    /// A rate in bit/s and a latency in seconds; what is no measure is left out.
    pub fn on_sample(&mut self, rate: f64, latency: f64) {
        if !(rate.is_finite() && latency.is_finite() && rate > 0.0 && latency > 0.0) {
            return;
        }
        if self.samples.len() == WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back((rate, latency));
        let seen = elect(&self.kinds, self.rule, self.rate(), self.latency());
        match self.now {
            Some(now) if now.kind != seen.kind => {
                let again = self.other.0 == seen.kind;
                self.other = (seen.kind, if again { self.other.1 + 1 } else { 1 });
                if self.other.1 >= IN_A_ROW {
                    self.now = Some(seen);
                }
            }
            _ => (self.now, self.other) = (Some(seen), (seen.kind, 0)),
        }
    }

    /// What it is by now.
    #[must_use]
    pub fn elected(&self) -> Option<(&'static str, f64)> {
        let Elected { kind, posterior } = self.now?;
        Some((kind.map_or("unknown", |at| self.kinds[at].name), posterior))
    }

    /// The second highest: use bounds capacity from below only, and the highest may be noise.
    fn rate(&self) -> f64 {
        let mut rates: Vec<f64> = self.samples.iter().map(|(rate, _)| *rate).collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        rates.get(1).or(rates.first()).copied().unwrap_or(0.0)
    }

    fn latency(&self) -> f64 {
        let mut all: Vec<f64> = self.samples.iter().map(|(_, latency)| *latency).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
