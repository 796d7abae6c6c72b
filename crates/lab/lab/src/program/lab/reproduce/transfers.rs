//! Tables of transfers, measured again with the real peers.

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::{Campaign, Experiment, Measured, Outcome, Progress, Record, System};

use super::{options::ReproduceArgs, plot};
use crate::{
    choice::systems,
    ending::{ended_early, failure, give_up, stop},
};

/// What `--quick` measures: a slow and a fast cell, with loss.
const QUICK_CELLS: &str = "1024:90,10240:90";
const QUICK_SYSTEMS: [System; 2] = [System::Fanfare, System::Norm];
pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let campaign = match campaign(args) {
        Ok(campaign) => campaign,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let (mut done, mut total) = (0, 0);
    let result = campaign.run(&stop, &mut |progress| match progress {
        Progress::Missing(system, error) => {
            output.warn("lab.peer_missing", format!("{system} is left out: {error}"));
        }
        Progress::Planned(planned, before) => {
            total = *planned as u64;
            output.text(&format!("{planned} trials to run, {before} were before"));
        }
        Progress::Ended(record, bound) => {
            done += 1;
            output.text(&line(record, *bound));
            // Void ones are run again.
            output.progress(done, total.max(done), format!("{done} of {total} trials"));
        }
    });
    output.clear();
    match result {
        Ok(measured) => show(&campaign, &measured, output),
        Err(error) => ended_early(output, &error, &stop),
    }
}

fn campaign(args: &ReproduceArgs) -> Result<Campaign, Failure> {
    let mut experiment = Experiment::find(&args.name).map_err(|error| failure(&error))?;
    experiment.size = args.size.unwrap_or(experiment.size);
    let systems = match (&args.systems, args.quick) {
        (Some(names), _) => systems(names)?,
        (None, true) => QUICK_SYSTEMS.to_vec(),
        (None, false) => experiment.systems.clone(),
    };
    let cells = match (&args.cells, args.quick) {
        (Some(keys), _) => experiment.choose(keys).map_err(|error| failure(&error))?,
        (None, true) => experiment.choose(QUICK_CELLS).map_err(|error| failure(&error))?,
        (None, false) => experiment.cells.clone(),
    };
    let family = args.name.split('-').next().unwrap_or(&args.name);
    Ok(Campaign {
        experiment,
        systems,
        leave_out_missing: args.systems.is_none(),
        cells,
        repetitions: args.repetitions(),
        trials: args.trials(family),
    })
}

/// A trial in a line.
fn line(record: &Record, bound: f64) -> String {
    let Record { experiment, cell, system, repetition, .. } = record;
    let what = format!("{experiment} {cell} {system} #{repetition}");
    match (record.outcome, record.mean_seconds()) {
        (Outcome::Complete, Some(time)) => format!(
            "{what}: {time:.3} s, {:.3} of the bound, {} bytes, {} drops",
            time / bound,
            record.bytes,
            record.queue_drops
        ),
        (Outcome::Void, _) => {
            let Record { late_ms, starved_ms, starved_mean_ms, .. } = record;
            format!(
                "{what}: void, the machine was too busy ({late_ms} ms late, programs {starved_ms} \
                 ms, on average {starved_mean_ms} ms)"
            )
        }
        _ => format!("{what}: not complete: {}", record.why),
    }
}

fn show(campaign: &Campaign, measured: &Measured, output: &Output) -> Exit {
    let records = &measured.records;
    let name = campaign.experiment.name;
    let place = campaign.trials.out.join(format!("{name}.md"));
    let picture = campaign.trials.out.join(format!("{name}.svg"));
    let drawn = plot::draw(&campaign.experiment, &measured.points)
        .and_then(|svg| std::fs::write(&picture, svg).map_err(Into::into));
    if let Err(error) = drawn {
        let text = format!("plot ({}): {error}. The tables are written", picture.display());
        output.warn("lab.plot", text);
    }
    output.text(&format!("tables: {}", place.display()));
    output.data(&std::fs::read_to_string(&place).unwrap_or_default());
    let ours = || {
        let of_ours =
            |r: &&Record| r.system == System::Fanfare.name() && r.is_of(&campaign.experiment);
        records.iter().filter(of_ours)
    };
    if ours().any(|record| record.outcome == Outcome::Incomplete) {
        Exit::Partial
    } else if campaign.systems.contains(&System::Fanfare)
        && ours().all(|record| record.outcome == Outcome::Void)
    {
        // Nothing was measured, and nothing is known to be wrong.
        Exit::Resource
    } else {
        Exit::Done
    }
}
