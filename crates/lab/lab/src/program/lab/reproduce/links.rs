//! `fanfare lab reproduce s002-links`: how often the kind of a link is told rightly, beside seed 002.

use std::{fmt::Write as _, fs, io, path::PathBuf};

use fanfare_command::{Exit, Failure, Output, give_up};
use fanfare_node::monitor::link::{Election, KINDS, Rule, elect};
use fanfare_wire::units::Rng;

use super::options::ReproduceArgs;

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-links";
const TRIALS: usize = 20_000;
/// A quick look.
const TRIALS_QUICK: usize = 1000;
/// Shares of a link's rate in the nine cells.
const USED: [f64; 3] = [0.3, 0.7, 1.0];

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let trials = if args.quick { TRIALS_QUICK } else { TRIALS };
    let folder = args.folder("monitor");
    let text = page(trials);
    match write(&folder, &text) {
        Ok(path) => {
            output.text(&format!("table: {}", path.display()));
            output.data(&text);
            Exit::Done
        }
        Err(error) => {
            let text = format!("out ({}): cannot be written ({error})", folder.display());
            give_up(output, &Failure::new(Exit::Resource, "out.failed", text))
        }
    }
}

fn write(folder: &std::path::Path, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join("links.md");
    fs::write(&path, text)?;
    Ok(path)
}

fn page(trials: usize) -> String {
    let mut page = format!(
        "# Which kind of link this is\n\n\
         *Kinds of links told by how they behave: what is measured of rate and latency, with noise. Made by \
         `fanfare\nlab reproduce s002-links`.*\n\n\
         Nine cells: LAN, SATCOM and HF of seed 002 (100 Mbit/s and 10 ms, 1 Mbit/s and 200 ms, 56 kbit/s \
         and\n100 ms), each at 0.3, 0.7 and 1.0 of its rate. Noise: uniform, 20 % each way, one sample. \
         {trials} trials, seed 1.\n\n\
         | rule | 9 of 9 | 8 of 9 | 7 of 9 | fewer | mean |\n|---|---|---|---|---|---|\n\
         | seed 002, published | | 1 trial | | | 8 |\n"
    );
    for (name, rule) in [("points, as in seed 002", Rule::Table), ("likelihood", Rule::Likelihood)]
    {
        let right = nine_cells(rule, trials);
        let share = |n: usize| right[n] as f64 * 100.0 / trials as f64;
        let fewer: f64 = (0..7).map(share).sum();
        let mean: usize = right.iter().enumerate().map(|(n, count)| n * count).sum();
        let _ = writeln!(
            page,
            "| {name} | {:.2} % | {:.2} % | {:.2} % | {fewer:.2} % | {:.2} |",
            share(9),
            share(8),
            share(7),
            mean as f64 / trials as f64
        );
    }
    page.push_str(
        "\nBy likelihood, over a window of eight samples, with a use from 5 to 100 % and a latency from 0.7 \
         to 1.5\nof what is expected:\n\n\
         | link | right | unknown | another kind |\n|---|---|---|---|\n",
    );
    for kind in &KINDS {
        page.push_str(&row(kind.name, (kind.rate, kind.latency), Some(kind.name), trials));
    }
    page.push_str(&row("20 Mbit/s, 40 ms (none of them)", (20e6, 0.040), None, trials));
    page.push_str(&row("2 Mbit/s, 30 ms (none of them)", (2e6, 0.030), None, trials));
    page
}

/// How often 0 to 9 of the nine cells are right.
fn nine_cells(rule: Rule, trials: usize) -> [usize; 10] {
    let (mut rng, mut right) = (Rng::new(1), [0; 10]);
    for _ in 0..trials {
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
fn row(name: &str, (rate, latency): (f64, f64), kind: Option<&str>, trials: usize) -> String {
    let mut rng = Rng::new(2);
    let (mut right, mut unknown) = (0, 0);
    for _ in 0..trials {
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
    let share = |count: usize| count as f64 * 100.0 / trials as f64;
    let other = trials - unknown - if kind.is_some() { right } else { 0 };
    format!(
        "| {name} | {:.1} % | {:.1} % | {:.1} % |\n",
        share(right),
        share(unknown),
        share(other)
    )
}

/// Uniform noise of 20 % each way.
fn noisy(rng: &mut Rng, value: f64) -> f64 {
    value * (0.8 + 0.4 * rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_right_in_eight_cells_and_the_likelihood_in_nine() {
        let mean = |rule| {
            let right = nine_cells(rule, 500);
            right.iter().enumerate().map(|(n, count)| n * count).sum::<usize>() as f64 / 500.0
        };
        assert!((mean(Rule::Table) - 8.0).abs() < 0.15, "{}", mean(Rule::Table));
        assert!(mean(Rule::Likelihood) > 8.99, "{}", mean(Rule::Likelihood));
    }
}
