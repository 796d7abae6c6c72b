use fanfare_wire::units::Rng;

use super::*;
use crate::monitor::link::KINDS;

/// How many of the nine cells (each kind at 0.3, 0.7 and 1.0 of its rate) are right with noise of 20 %.
fn right(rule: Rule, rng: &mut Rng) -> usize {
    let mut noise = |value: f64| value * (0.8 + 0.4 * rng.unit());
    let mut right = 0;
    for (at, kind) in KINDS.iter().enumerate() {
        for used in [0.3, 0.7, 1.0] {
            let (rate, latency) = (noise(kind.rate * used), noise(kind.latency));
            right += usize::from(elect(&KINDS, rule, rate, latency).kind == Some(at));
        }
    }
    right
}

fn trials(rule: Rule, count: usize) -> [usize; 10] {
    let mut rng = Rng::new(2);
    let mut histogram = [0; 10];
    (0..count).for_each(|_| histogram[right(rule, &mut rng)] += 1);
    histogram
}

#[test]
fn by_points_eight_of_nine_are_right_on_average() {
    let histogram = trials(Rule::Table, 2000);
    let mean: f64 = histogram.iter().enumerate().map(|(n, count)| (n * count) as f64).sum();
    assert!((mean / 2000.0 - 8.0).abs() < 0.1, "{histogram:?}");
}

#[test]
fn by_likelihood_all_nine_are_right_in_more_than_999_of_1000() {
    let histogram = trials(Rule::Likelihood, 2000);
    assert!(histogram[9] >= 1998, "{histogram:?}");
}

#[test]
fn by_points_a_full_radio_is_taken_for_a_lan_whatever_the_noise() {
    let full = (56e3 * 1.01, 0.1);
    assert_eq!(elect(&KINDS, Rule::Table, full.0, full.1).kind, Some(0));
    assert_eq!(elect(&KINDS, Rule::Likelihood, full.0, full.1).kind, Some(2));
}

#[test]
fn what_is_none_of_the_kinds_is_unknown() {
    let mut rng = Rng::new(3);
    for (rate, latency) in [(20e6, 0.040), (2e6, 0.030)] {
        for _ in 0..1000 {
            let noise = |rng: &mut Rng| 0.8 + 0.4 * rng.unit();
            let measured = (rate * noise(&mut rng), latency * noise(&mut rng));
            assert_eq!(elect(&KINDS, Rule::Likelihood, measured.0, measured.1).kind, None);
        }
    }
}

#[test]
fn a_kind_changes_after_three_windows_that_agree() {
    let mut election = Election::new(&KINDS, Rule::Likelihood);
    (0..8).for_each(|_| election.on_sample(50e6, 0.01));
    assert_eq!(election.elected().unwrap().0, "LAN");
    // The median latency is the new one from the fourth sample on.
    let mut seen = Vec::new();
    for _ in 0..12 {
        election.on_sample(40e3, 0.1);
        seen.push(election.elected().unwrap().0);
    }
    assert_eq!((seen[2], seen[11]), ("LAN", "HF"), "{seen:?}");
    election.on_sample(f64::NAN, 0.1);
    assert_eq!(election.elected().unwrap().0, "HF");
}
