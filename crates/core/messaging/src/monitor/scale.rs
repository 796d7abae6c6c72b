//! Numbers in one byte: eighths of an octave, at most 4.4 % off. Noise below a step changes nothing, and
//! so sends nothing.

use fanfare_wire::units::Duration;

/// Steps of an octave.
const STEPS: f64 = 8.0;

/// Which number step 1 stands for; 0 stands for zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    unit: f64,
}

/// Bits per second: up to 30 Gbit/s.
pub const RATE: Scale = Scale { unit: 8.0 };
/// Seconds of round trips: from 10 µs to ten hours.
pub const TIME: Scale = Scale { unit: 1e-5 };
/// Seconds of ages and intervals: from 0.1 s on.
pub const AGE: Scale = Scale { unit: 0.1 };

impl Scale {
    /// The nearest step. What is no number, or negative, has none.
    #[must_use]
    pub fn step(self, value: f64) -> Option<u8> {
        if !value.is_finite() || value < 0.0 {
            return None;
        }
        if value == 0.0 {
            return Some(0);
        }
        let step = libm::round(STEPS * libm::log2(value / self.unit)) + 1.0;
        Some(step.clamp(1.0, 255.0) as u8)
    }

    /// What a step stands for.
    #[must_use]
    pub fn value(self, step: u8) -> f64 {
        match step {
            0 => 0.0,
            step => self.unit * libm::exp2(f64::from(step - 1) / STEPS),
        }
    }

    /// The step of a time, or the next one: what is told of an age is never younger than it is, however
    /// often it is passed on.
    #[must_use]
    pub fn step_of(self, time: Duration) -> u8 {
        let nearest = self.step(time.as_secs_f64()).unwrap_or(u8::MAX);
        if self.time(nearest) < time { nearest.saturating_add(1) } else { nearest }
    }

    /// A time by its step.
    #[must_use]
    pub fn time(self, step: u8) -> Duration {
        Duration::from_secs_f64(self.value(step))
    }
}

/// A share from 0 to 1 in one byte; `None` for what is none.
#[must_use]
pub fn share(value: f64) -> Option<u8> {
    (value.is_finite() && value >= 0.0).then(|| libm::round(value.min(1.0) * 255.0) as u8)
}

/// What [`share`] made a byte of.
#[must_use]
pub fn of_share(byte: u8) -> f64 {
    f64::from(byte) / 255.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_told_within_four_and_a_half_percent(value in 10.0..1e9_f64) {
            let told = RATE.value(RATE.step(value).unwrap());
            prop_assert!((told / value - 1.0).abs() < 0.045, "{} {}", value, told);
        }

        #[test]
        fn a_step_stands_for_itself(step in any::<u8>()) {
            for scale in [RATE, TIME, AGE] {
                prop_assert_eq!(scale.step(scale.value(step)), Some(step));
            }
        }
    }

    #[test]
    fn what_is_no_measure_has_no_step() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!((RATE.step(value), share(value)), (None, None));
        }
        assert_eq!((RATE.step(0.0), share(0.5), share(7.0)), (Some(0), Some(128), Some(255)));
    }
}
