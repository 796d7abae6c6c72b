//! What the sender does about a line that falls.

use std::time::Duration;

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "s002-adapt";

/// The line, bit/s; and what it falls to (seed 002, 6.8).
pub(super) const WIDE: u64 = 1_000_000;
pub(super) const NARROW: u64 = 128_000;
/// What the sender sends: the paper's stream, and the one that fits the narrow line.
const HIGH: &str = "400k";
pub(super) const LOW: &str = "64k";
/// When the line falls.
pub(super) const FALLS: Duration = Duration::from_secs(20);
/// How long it is narrow, and what is looked at after that.
const SHORT: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(600);
const AFTER: Duration = Duration::from_secs(15);

/// A kind of run.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Options of `fanfare send`.
    pub(super) options: &'static [&'static str],
    /// Somebody knows before: the sender is another one while the line is narrow.
    pub(super) by_hand: bool,
    /// There is a monitor, which the sender obeys.
    pub(super) advised: bool,
    narrow: Duration,
}

const FIXED: [&str; 4] = ["--cc", "fixed", "--rate", HIGH];

pub(super) const CASES: [Case; 5] = [
    Case {
        name: "off",
        about: "400 kbit/s, whatever happens",
        options: &FIXED,
        by_hand: false,
        advised: false,
        narrow: SHORT,
    },
    Case {
        name: "auto",
        about: "at most 400 kbit/s, by Fanfare's own congestion control",
        options: &["--cc", "auto", "--rate", HIGH],
        by_hand: false,
        advised: false,
        narrow: SHORT,
    },
    Case {
        name: "hand",
        about: "400 kbit/s; somebody who knows of the fall makes it 64 kbit/s a second before",
        options: &FIXED,
        by_hand: true,
        advised: false,
        narrow: SHORT,
    },
    Case {
        name: "act",
        about: "400 kbit/s, and `--adapt obey`",
        options: &FIXED,
        by_hand: false,
        advised: true,
        narrow: SHORT,
    },
    Case {
        name: "act-long",
        about: "the same, and the line is narrow for ten minutes",
        options: &FIXED,
        by_hand: false,
        advised: true,
        narrow: LONG,
    },
];

impl Case {
    pub(super) fn is_long(&self) -> bool {
        self.narrow >= LONG
    }
    /// When the line is wide again.
    pub(super) fn back(&self) -> Duration {
        FALLS + self.narrow
    }
    pub(super) fn end(&self) -> Duration {
        self.back() + AFTER
    }

    /// A queue of 16 kB is a second of the narrow line. The paper's is not known.
    pub(super) fn scenario(&self) -> String {
        let back = self.back().as_secs();
        let falls = FALLS.as_secs();
        format!(
            "[scenario]\nname = \"adapt\"\nduration = \"3600s\"\n\
             [[node]]\nname = \"s\"\nhost = true\n[[node]]\nname = \"v\"\nhost = true\n\
             [[link]]\nfrom = \"s\"\nto = \"v\"\nboth = true\nrate = \"{WIDE}bps\"\ndelay = \"20ms\"\n\
             queue = {{ kind = \"drop-tail\", bytes = 16000 }}\n\
             [[change]]\nat = \"{falls}s\"\n\
             link = {{ from = \"s\", to = \"v\", both = true, rate = \"{NARROW}bps\" }}\n\
             [[change]]\nat = \"{back}s\"\n\
             link = {{ from = \"s\", to = \"v\", both = true, rate = \"{WIDE}bps\" }}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::reproduce::stage;

    #[test]
    fn every_case_has_a_scenario_and_one_is_ten_minutes_long() {
        assert!(CASES.iter().all(|case| stage::scenario(&case.scenario()).is_ok()));
        let long: Vec<&str> =
            CASES.iter().filter(|case| case.is_long()).map(|case| case.name).collect();
        assert_eq!((long, CASES[3].end()), (vec!["act-long"], Duration::from_secs(65)));
    }
}
