//! How exact it was, for people and for programs.

use fanfare_sim::Sorted;
use std::fmt::Write as _;

use super::trial::P3Row;

/// The laboratory hands over packets that have joined at once: above this, gaps are its own.
const SURE: u32 = 100_000;
/// What is called right: a tenth of the true rate.
const RIGHT: f64 = 0.1;

pub(super) fn markdown(rows: &[P3Row]) -> String {
    let mut text = format!(
        "# The rate of a road by passive packet pairs\n\n*For people who want to know how far an \
         estimate of a link can be trusted. Made by `fanfare lab\nreproduce s002-p3`.*\n\n\
         `fanfare link --measure` sends five packets at once now and then. The other end reports the \
         rate\nby how far apart they arrive. A road of known rate, 20 ms one way. `busy`: four \
         processes compute\nwithout end beside. A report counts as right within a tenth. Rates above \
         {} Mbit/s are not measured:\nthe laboratory hands over packets that have joined at once.\n\n\
         | rate, kbit/s | processors | reports | least | median | most | right |\n\
         |---|---|---|---|---|---|---|\n",
        SURE / 1000
    );
    let mut done = Vec::new();
    for row in rows {
        let about = (row.rate, row.busy);
        if done.contains(&about) {
            continue;
        }
        done.push(about);
        let same = rows.iter().filter(|other| (other.rate, other.busy) == about);
        let all: Sorted = same.flat_map(|row| row.told.iter().copied()).collect();
        let busy = if row.busy { "busy" } else { "idle" };
        let _ = write!(text, "| {} | {busy} | {} |", row.rate, all.len());
        let right = all.iter().filter(|part| (*part - 1.0).abs() <= RIGHT).count();
        let _ = match &all[..] {
            [] => writeln!(text, " - | - | - | nothing was said |"),
            [least, .., most] | [least @ most] => writeln!(
                text,
                " {least:.2} | {:.2} | {most:.2} | {:.0} % |",
                all.median().unwrap_or_default(),
                right as f64 * 100.0 / all.len() as f64
            ),
        };
    }
    text + "\nAbove some 10 Mbit/s packets are read together. Trains in which that shows say nothing, and the\n\
            others say too much.\n\nThe paper (6.3): fairly accurate to 2,048 kbit/s, and too high above; no dependence on \
            how busy the\nprocessor is.\n"
}

pub(super) fn csv(rows: &[P3Row]) -> String {
    let mut text = "rate_kbps,busy,repetition,part_of_rate\n".to_owned();
    for P3Row { rate, busy, repetition, told } in rows {
        for part in told {
            let _ = writeln!(text, "{rate},{busy},{repetition},{part:.4}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_reports_of_a_road_are_one_row_and_silence_is_told() {
        let row = |rate, repetition, told: &[f64]| P3Row {
            rate,
            busy: false,
            repetition,
            told: told.to_vec(),
        };
        let rows = [row(512, 0, &[0.8, 1.0]), row(512, 1, &[1.05]), row(1000, 0, &[])];
        let text = markdown(&rows);
        assert!(text.contains("| 512 | idle | 3 | 0.80 | 1.00 | 1.05 | 67 % |"), "{text}");
        assert!(text.contains("| 1000 | idle | 0 | - | - | - | nothing was said |"), "{text}");
        assert!(csv(&rows).contains("512,false,1,1.0500"));
    }
}
