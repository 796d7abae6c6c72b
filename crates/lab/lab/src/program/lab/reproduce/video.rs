//! `fanfare lab reproduce s002-video`: video to a group, by real programs (seed 002, 6.8 and NetCacher).
//!
//! - `fall`: a line that falls and comes back, beside control traffic
//! - `crowd`: many viewers on one medium; `beginning`: one that comes when the source has gone
//! - `course`: what all have in common; `programs`: what they say; `table`: medians and intervals

mod beginning;
mod course;
mod crowd;
mod fall;
mod programs;
mod table;

use fanfare_command::{Exit, Failure, Output};

use super::{options::ReproduceArgs, stage::Experiment};
use crate::choice::cells;
use course::Case;
pub(super) use course::NAME;
use table::RunLine;

const CASES: [Case; 3] = [
    Case {
        name: "fall",
        about: "A line of 1 Mbit/s falls to 128 kbit/s for 40 s; renditions of 64 and 400 kbit/s; control \
                traffic of 300 bytes a second by TCP beside them.",
        figures: &fall::FIGURES,
        run: fall::run,
    },
    Case {
        name: "crowd",
        about: "Twenty viewers of 1.5 Mbit/s begin together on a medium of 10 Mbit/s that loses 1 % at \
                each; one more comes 16 s later.",
        figures: &crowd::FIGURES,
        run: crowd::run,
    },
    Case {
        name: "beginning",
        about: "A viewer comes when the source has gone, and wants the 30 s that its neighbour has.",
        figures: &beginning::FIGURES,
        run: beginning::run,
    },
];

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let cases = match chosen(args.cells.as_deref()) {
        Ok(cases) => cases,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let of = |case: &'static Case| {
        args.repetitions().map(move |repetition| (case, u64::from(repetition) + 1))
    };
    Experiment {
        name: NAME,
        family: "video",
        planned: cases.into_iter().flat_map(of).collect(),
        // ffmpeg takes a processor for itself.
        jobs: 1,
        run: |(case, seed), stop| {
            (case.run)(*seed, stop).map(|figures| RunLine { case, seed: *seed, figures })
        },
        line: RunLine::line,
        tables: [table::markdown, table::csv],
    }
    .run(args, output)
}

fn chosen(names: Option<&str>) -> Result<Vec<&'static Case>, Failure> {
    let Some(names) = names else { return Ok(CASES.iter().collect()) };
    let named = |name: &str| CASES.iter().find(|case| case.name == name);
    cells(names, named, "fall, crowd or beginning, with commas")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_name_and_an_unknown_one_is_refused() {
        assert_eq!(chosen(None).unwrap_or_default().len(), 3);
        assert_eq!(chosen(Some("crowd, fall")).unwrap_or_default()[0].name, "crowd");
        assert!(chosen(Some("rise")).is_err());
    }
}
