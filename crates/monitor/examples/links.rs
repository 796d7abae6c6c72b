//! How often the election of a link's kind is right: the table of results/monitor/links.md.
//!
//! `cargo run --release -p fanfare-monitor --example links > results/monitor/links.md`

use fanfare_monitor::link::{Election, KINDS, Rule, elect};
use fanfare_units::Rng;

const TRIALS: usize = 20_000;
/// Shares of a link's rate in the nine cells.
const USED: [f64; 3] = [0.3, 0.7, 1.0];

fn main() {
    println!(
        "# Which kind of link this is\n\n\
         *Kinds of links told by how they behave: what is measured of rate and latency, with noise. Made by \
         `cargo run\n--release -p fanfare-monitor --example links`.*\n\n\
         Nine cells: LAN, SATCOM and HF of seed 002 (100 Mbit/s and 10 ms, 1 Mbit/s and 200 ms, 56 kbit/s \
         and\n100 ms), each at 0.3, 0.7 and 1.0 of its rate. Noise: uniform, 20 % each way, one sample. \
         {TRIALS} trials, seed 1.\n"
    );
    println!("| rule | 9 of 9 | 8 of 9 | 7 of 9 | fewer | mean |\n|---|---|---|---|---|---|");
    for (name, rule) in [("points, as in seed 002", Rule::Table), ("likelihood", Rule::Likelihood)]
    {
        let right = nine_cells(rule);
        let share = |n: usize| right[n] as f64 * 100.0 / TRIALS as f64;
        let fewer: f64 = (0..7).map(share).sum();
        let mean: usize = right.iter().enumerate().map(|(n, count)| n * count).sum();
        println!(
            "| {name} | {:.2} % | {:.2} % | {:.2} % | {fewer:.2} % | {:.2} |",
            share(9),
            share(8),
            share(7),
            mean as f64 / TRIALS as f64
        );
    }
    println!("\nThe paper: 8 of 9.\n");
    println!(
        "By likelihood, over a window of eight samples, with a use from 5 to 100 % and a latency from 0.7 to \
         1.5\nof what is expected:\n"
    );
    println!("| link | right | unknown | another kind |\n|---|---|---|---|");
    for (at, kind) in KINDS.iter().enumerate() {
        row(kind.name, kind.rate, kind.latency, Some(KINDS[at].name));
    }
    row("20 Mbit/s, 40 ms (none of them)", 20e6, 0.040, None);
    row("2 Mbit/s, 30 ms (none of them)", 2e6, 0.030, None);
}

/// How often 0 to 9 of the nine cells are right.
fn nine_cells(rule: Rule) -> [usize; 10] {
    let (mut rng, mut right) = (Rng::new(1), [0; 10]);
    for _ in 0..TRIALS {
        let mut count = 0;
        for (at, kind) in KINDS.iter().enumerate() {
            for used in USED {
                let rate = noisy(&mut rng, kind.rate * used);
                let latency = noisy(&mut rng, kind.latency);
                count += usize::from(elect(&KINDS, rule, rate, latency).kind == Some(at));
            }
        }
        right[count] += 1;
    }
    right
}

/// A line for a link that is elected over and over.
fn row(name: &str, rate: f64, latency: f64, kind: Option<&str>) {
    let mut rng = Rng::new(2);
    let (mut right, mut unknown) = (0, 0);
    for _ in 0..TRIALS {
        let mut election = Election::new(&KINDS, Rule::Likelihood);
        let is_known = kind.is_some();
        let stretch = if is_known { 0.7 + 0.8 * rng.unit() } else { 1.0 };
        for _ in 0..8 {
            let used = if is_known { 0.05 + 0.95 * rng.unit() } else { 1.0 };
            let (rate, latency) = (rate * used, latency * stretch);
            election.on_sample(noisy(&mut rng, rate), noisy(&mut rng, latency));
        }
        let elected = election.elected().map_or("unknown", |(name, _)| name);
        right += usize::from(elected == kind.unwrap_or("unknown"));
        unknown += usize::from(elected == "unknown");
    }
    let share = |count: usize| count as f64 * 100.0 / TRIALS as f64;
    let other = TRIALS - unknown - if kind.is_some() { right } else { 0 };
    println!(
        "| {name} | {:.1} % | {:.1} % | {:.1} % |",
        share(right),
        share(unknown),
        share(other)
    );
}

/// Uniform noise of 20 % each way.
fn noisy(rng: &mut Rng, value: f64) -> f64 {
    value * (0.8 + 0.4 * rng.unit())
}
