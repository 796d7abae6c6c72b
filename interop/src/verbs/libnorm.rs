//! Verbs that run programs on our libnorm.so.1: ZeroMQ, NRL's examples, and how fast both libraries are.

use fanfare_interop::examples::{self, bindings, norp};
use fanfare_interop::report::Head;
use fanfare_interop::tool::{self, ToolError};
use fanfare_interop::zeromq::{self, Library};
use fanfare_interop::{calls, rates, scratch};

use crate::{StreamsArguments, command, today, write};

pub(crate) fn run_zeromq(arguments: &StreamsArguments, valgrind: bool) -> Result<bool, ToolError> {
    for program in ["ip", "cc"].into_iter().chain(valgrind.then_some("valgrind")) {
        tool::require(program)?;
    }
    let scratch = scratch::Scratch::new()?;
    let peer = match zeromq::Peer::build(&scratch)? {
        Ok(peer) if valgrind => peer.under_valgrind(),
        Ok(peer) => peer,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: ZeroMQ was not run. {why}");
            return Ok(true);
        }
    };
    let wanted = |cell: &zeromq::Cell| {
        (cell.quick || !arguments.quick) && cell.name().contains(&arguments.filter)
    };
    let mut rows = Vec::new();
    let patched = std::env::var_os(zeromq::PATCHED).is_some();
    if !patched && !arguments.quick {
        println!("SKIPPED: messages of more than 2,038 bytes. Set {}", zeromq::PATCHED);
    }
    let here = |cell: &zeromq::Cell| patched || !cell.is_patched();
    for mut cell in zeromq::all().into_iter().filter(wanted).filter(here) {
        if valgrind {
            cell = cell.slowly();
        }
        let outcome = zeromq::run(&cell, &peer, &scratch)?;
        match &outcome {
            Ok(rate) => println!("pass  {} {rate:.0} messages/s", cell.name()),
            Err(why) => println!("FAIL  {}: {why}", cell.name()),
        }
        rows.push((cell, outcome));
    }
    let full = !arguments.quick && arguments.filter.is_empty() && !valgrind;
    if full && !tool::interrupted() {
        let head = Head { command: command(), date: today()?, nrl_version: nrl_version() };
        write(&zeromq::place(), &zeromq::page(&head, &rows))?;
    }
    Ok(!rows.is_empty() && rows.iter().all(|(_, outcome)| outcome.is_ok()))
}

pub(crate) fn run_rates(runs: usize) -> Result<bool, ToolError> {
    let programs = match rates::Programs::build()? {
        Ok(programs) => programs,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: nothing was measured. {why}");
            return Ok(true);
        }
    };
    let both = [Library::Ours, Library::Nrl];
    let mut rows = Vec::new();
    for stream in &rates::ALL {
        let [ours, nrl] = both.map(|library| rates::measure(&programs, (stream, runs), library));
        let [ours, nrl] = [ours?, nrl?].map(|told| rates::cell(stream, told));
        println!("{}: {ours}, NRL {nrl}", stream.name);
        rows.push([stream.name.to_owned(), ours, nrl]);
    }
    match &programs.zeromq {
        Ok(peer) => rows.extend(measure_zeromq(peer)?),
        Err(zeromq::Skipped(why)) => println!("SKIPPED: ZeroMQ was not measured. {why}"),
    }
    let head = Head { command: command(), date: today()?, nrl_version: nrl_version() };
    write(&rates::place(), &rates::page(&head, runs, &rows))?;
    Ok(true)
}

fn nrl_version() -> String {
    tool::output("dpkg-query", &["-W", "-f", "${Version}", "libnorm1"])
        .unwrap_or_else(|_| "unknown".into())
}

fn measure_zeromq(peer: &zeromq::Peer) -> Result<Vec<[String; 3]>, ToolError> {
    let scratch = scratch::Scratch::new()?;
    let run = |library, many, options| -> Result<String, ToolError> {
        let told = zeromq::run(&zeromq::fast(library, many, options), peer, &scratch)?;
        Ok(told.map_or_else(|why| why, |rate| format!("{rate:.0} messages/s")))
    };
    let mut rows = Vec::new();
    for bytes in [100, 1000] {
        // NRL's would take minutes for more.
        let nrl = run(Library::Nrl, (5_000, bytes), None)?;
        for options in [None, Some("cc=fixed,rate=4G")] {
            let ours = run(Library::Ours, (300_000, bytes), options)?;
            let with = options.map_or_else(String::new, |options| format!(", {options}"));
            let what = format!("ZeroMQ PUB to SUB, {bytes} bytes{with}");
            println!("{what}: {ours}, NRL {nrl}");
            rows.push([what, ours, nrl.clone()]);
        }
    }
    Ok(rows)
}

/// From so many seeds on the page is written.
const FULL: u64 = 2000;

pub(crate) fn run_calls(plan: calls::CallsPlan) -> Result<bool, ToolError> {
    for program in ["ip", "c++"] {
        tool::require(program)?;
    }
    let found = match calls::run(plan)? {
        Ok(found) => found,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: no calls were made. {why}");
            return Ok(true);
        }
    };
    for (seed, lines) in &found {
        println!("FAIL  seed {seed}:\n{lines}");
    }
    println!("{} seeds, {} differ", plan.seeds, found.len());
    if plan.seeds >= FULL && !tool::interrupted() {
        let head = Head { command: command(), date: today()?, nrl_version: nrl_version() };
        write(&calls::place(), &calls::page(&head, plan, &found))?;
    }
    Ok(found.is_empty())
}

pub(crate) fn run_examples() -> Result<bool, ToolError> {
    let programs = match examples::Programs::build()? {
        Ok(programs) => programs,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: NRL's examples were not run. {why}");
            return Ok(true);
        }
    };
    let mut failed = false;
    for example in examples::ALL {
        match examples::run(example, &programs)? {
            Ok(()) => println!("pass  {}", example.name),
            Err(why) => {
                println!("FAIL  {}: {why}", example.name);
                failed = true;
            }
        }
    }
    Ok(!failed)
}

pub(crate) fn run_norp() -> Result<bool, ToolError> {
    let programs = match norp::Programs::build()? {
        Ok(programs) => programs,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: norp was not run. {why}");
            return Ok(true);
        }
    };
    let mut rows = Vec::new();
    for cell in norp::all() {
        let outcome = norp::run(cell, &programs)?;
        match &outcome {
            Ok(seconds) => println!("pass  {} {seconds:.1} s", cell.name()),
            Err(why) => println!("FAIL  {}: {why}", cell.name()),
        }
        rows.push((cell, outcome));
    }
    let head = Head { command: command(), date: today()?, nrl_version: nrl_version() };
    write(&norp::place(), &norp::page(&head, &rows))?;
    Ok(rows.iter().all(|(_, outcome)| outcome.is_ok()))
}

pub(crate) fn run_bindings() -> Result<bool, ToolError> {
    let programs = match bindings::Programs::find()? {
        Ok(programs) => programs,
        Err(zeromq::Skipped(why)) => {
            println!("SKIPPED: bindings were not run. {why}");
            return Ok(true);
        }
    };
    let mut good = true;
    for binding in bindings::ALL {
        let name = binding.name();
        match bindings::run(binding, &programs)? {
            Ok(Ok(())) => println!("pass  {name}"),
            Ok(Err(why)) => {
                println!("FAIL  {name}: {why}");
                good = false;
            }
            Err(zeromq::Skipped(why)) => println!("SKIPPED: {name} was not run. {why}"),
        }
    }
    Ok(good)
}
