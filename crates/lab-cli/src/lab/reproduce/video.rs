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

use super::options::{ReproduceArgs, conclude};
use crate::ending::{give_up, stop};
use course::Case;
pub(super) use course::NAME;
use table::{Measured, RunLine};

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
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    if let Err(error) = fanfare_lab::check_rights() {
        return give_up(output, &error);
    }
    let out = args.folder("video");
    let mut measured = Vec::new();
    for case in cases {
        let mut runs = Vec::new();
        for repetition in args.repetitions() {
            let seed = u64::from(repetition) + 1;
            match (case.run)(seed, &stop) {
                Ok(figures) => {
                    output.text(&format!("{} #{repetition}: {figures:.3?}", case.name));
                    runs.push(RunLine { seed, figures });
                }
                Err(failure) => return fanfare_command::give_up(output, &failure),
            }
        }
        measured.push(Measured { case, runs });
    }
    let written = table::write(&out, &measured).map(|()| false);
    let written = written.map_err(|error| fanfare_lab_error(&error));
    match written {
        Ok(broken) => conclude(Ok(broken), &out.join(format!("{NAME}.md")), &stop, output),
        Err(failure) => fanfare_command::give_up(output, &failure),
    }
}

fn chosen(cells: Option<&str>) -> Result<Vec<&'static Case>, Failure> {
    let Some(cells) = cells else { return Ok(CASES.iter().collect()) };
    let find = |name: &str| {
        CASES.iter().find(|case| case.name == name.trim()).ok_or_else(|| {
            let text = format!("cells ({name}): no such case. Use fall, crowd or beginning");
            Failure::usage("cells.invalid", text)
        })
    };
    cells.split(',').map(find).collect()
}

fn fanfare_lab_error(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Resource, "lab.table", format!("file (the table): {error}"))
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
