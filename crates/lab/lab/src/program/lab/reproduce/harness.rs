//! `fanfare lab reproduce s002-harness`: many systems, several seeds.
//!
//! - `table`: all cells for people and for programs; `published`: the paper's figures
//! - `faults`: what faults cost
//! - `plot`: pictures; `page`: the page that compares

mod faults;
mod page;
mod plot;
mod published;
mod table;

use std::{fs, path::Path, time::Duration};

use fanfare_command::{Exit, Failure, Output, units};
use fanfare_lab::{
    Company, CompanyProgress, Harness, HarnessCell, HarnessRun, MessagingSystem, Radio,
};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::chosen,
    drawing::DrawError,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-harness";
/// What `--quick` takes: one radio, once.
const QUICK: Duration = Duration::from_secs(60);
/// What is published last has so long.
const REST: Duration = Duration::from_secs(30);

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let harness = match harness(args) {
        Ok(harness) => harness,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = harness.run(&stop, &mut |progress| match progress {
        CompanyProgress::Missing(carrier, error) => {
            output.warn("lab.peer_missing", format!("{carrier} is left out: {error}"));
        }
        CompanyProgress::Ended(row) => output.text(&row.line()),
    });
    let out = &harness.company.trials.out;
    let broken = result.and_then(|HarnessRun { cells, rows, ended }| {
        let company = &harness.company;
        let text = table::markdown(company, &cells, &rows);
        company.trials.write("harness", &text, &table::csv(&rows))?;
        if let Err(error) = draw(out, &cells, args.html, &about(company)) {
            let text = format!("plot ({}): {error}. The tables are written", out.display());
            output.warn("lab.plot", text);
        }
        ended.map(|()| cells.iter().any(|cell| cell.is_ours() && cell.broken > 0))
    });
    conclude(broken, &out.join("harness.md"), &stop, output)
}

fn harness(args: &ReproduceArgs) -> Result<Harness, Failure> {
    let quick = [Radio::Fixed];
    let radios = if args.quick { &quick[..] } else { &Radio::MEASURED };
    let duration = units::time("duration", &args.duration)?;
    let company = Company {
        systems: chosen("systems", args.systems.as_deref(), &MessagingSystem::ALL)?,
        leave_out_missing: args.systems.is_none(),
        radios: chosen("cells", args.cells.as_deref(), radios)?,
        vehicles: args.vehicles,
        duration: if args.quick { QUICK } else { duration },
        rest: REST,
        seed: 1,
        trials: args.trials("harness"),
    };
    Ok(Harness { company, repetitions: args.repetitions() })
}

fn about(company: &Company) -> String {
    format!(
        "{} vehicles on one radio of 600 kbit/s, real programs: positions of 128 bytes from all to all \
         every 10 s, sensor data of 128 KiB and a document of 512 KiB, for {} s and {} s more. Medians, and \
         half of the interval of 95 %.",
        company.vehicles,
        company.duration.as_secs(),
        company.rest.as_secs()
    )
}

fn draw(out: &Path, cells: &[HarnessCell], html: bool, about: &str) -> Result<(), DrawError> {
    let pictures = [plot::shares(cells)?, plot::delays(cells)?];
    for (name, picture) in ["harness-shares.svg", "harness-delays.svg"].iter().zip(&pictures) {
        fs::write(out.join(name), picture)?;
    }
    if html {
        fs::write(out.join("harness.html"), page::page(cells, about, &pictures))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fanfare_lab::CompanyRow;
    use serde_json::json;

    use super::*;

    /// A trial of six vehicles with these messages.
    pub(super) fn row(
        radio: &str,
        system: &str,
        seconds: u64,
        messages: &[(&str, u64, &[Option<u64>])],
    ) -> CompanyRow {
        let share = json!({"pairs": 0, "had": 0, "in_time": 0, "delay": 0.0});
        let cut = json!({"share": 9.0, "mean_ms": 15.0, "p95_ms": 20.0});
        serde_json::from_value(json!({
            "radio": radio, "system": system, "version": "1", "seconds": seconds, "seed": 1,
            "vehicles": 6, "content": 128, "shares": [share, share, share],
            "cuts": [cut, cut, cut], "again": 0, "packets": 1, "bytes": 1000, "drops": 0,
            "late_ms": 0.1, "why": "", "cpu": 0.5, "memory": 1024, "messages": messages,
        }))
        .unwrap()
    }

    pub(super) fn cell(radio: &str, system: &str, share: f64) -> HarnessCell {
        let of = |median| fanfare_lab::MedianOf { median, interval: 1.0, runs: 3 };
        HarnessCell {
            radio: radio.to_owned(),
            system: system.to_owned(),
            version: "1".to_owned(),
            shares: [of(share); 3],
            means: [of(100.0); 3],
            p95s: [of(300.0); 3],
            long: [of(100.0); 2],
            bytes: of(1e6),
            cpu: of(2.0),
            memory: of(64.0),
            late: of(0.1),
            delays: [0.02, 0.3].into_iter().collect(),
            pairs: 4,
            broken: 0,
        }
    }

    #[test]
    fn the_page_has_each_system_of_each_radio_the_best_first_and_loads_nothing() {
        let cells = [
            cell("fixed", "nats", 90.0),
            cell("fixed", "fanfare", 100.0),
            cell("moving", "fanfare", 95.0),
        ];
        let pictures = [plot::shares(&cells).unwrap(), plot::delays(&cells).unwrap()];
        assert!(pictures.iter().all(|svg| svg.matches("radio: ").count() == 2), "{pictures:?}");
        let page = page::page(&cells, "about", &pictures);
        assert!(page.find(">fanfare<").unwrap() < page.find(">nats<").unwrap(), "{page}");
        assert_eq!(page.matches("<tr class=\"ours\">").count(), 2);
        assert!(page.contains("90.0 ± 1.0") && page.matches("<svg").count() == 2);
        let own = page.replace("http://www.w3.org/", "");
        assert!(!own.contains("http") && !own.contains("<script"), "{own}");
    }

    #[test]
    fn nothing_measured_is_an_empty_page() {
        assert!(plot::shares(&[]).is_ok() && plot::delays(&[]).is_ok());
        assert!(page::page(&[], "", &[]).ends_with("</html>\n"));
    }
}
