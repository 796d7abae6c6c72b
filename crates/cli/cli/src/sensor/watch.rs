//! `fanfare sensor`: opens what it may look at, gives up its rights, and tells.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, Read},
    os::fd::AsFd as _,
    path::Path,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure, Notice, Output, give_up, interrupt};
use fanfare_monitor::sensor::{
    capture::{Capture, CaptureError, ETHERNET, give_up_rights, is_tunnel},
    dissect::LinkType,
    replay,
    report::Report,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::sensor::{
    agents::Agents,
    look::{Look, Seen},
    monitor::Monitor,
    options::SensorArgs,
    said,
};

/// Ctrl-C is looked for so often.
const ASKED: Duration = Duration::from_millis(200);
/// A burst fills the ring within this: blocks are handed over each 10 ms.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &SensorArgs) -> Exit {
    let output = Output::new(args.output);
    let done = match &args.read {
        Some(path) => read(path, args, &output),
        None => watch(args, &output),
    };
    match done {
        Ok(exit) => {
            output.event(&Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}

/// A capture file, whole.
fn read(path: &Path, args: &SensorArgs, output: &Output) -> Result<Exit, Failure> {
    let is_input = path.as_os_str() == "-";
    let shown = if is_input { "standard input".to_owned() } else { path.display().to_string() };
    let mut from: Box<dyn Read> = if is_input {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(|error| {
            let text = format!("read ({shown}): cannot be opened ({error}). Check its name");
            Failure::new(Exit::Failed, "sensor.file", text)
        })?))
    };
    drop_rights()?;
    let mut seen = Seen::new(args.addresses(), args.norm_port.clone());
    let (mut first, mut last) = (None, None);
    let mut unknown: BTreeMap<u32, u64> = BTreeMap::new();
    let whole = replay::replay(&mut from, &mut |origin, frame| {
        first.get_or_insert(frame.at);
        last = Some(frame.at);
        if LinkType::of_number(origin.link).is_none() {
            *unknown.entry(origin.link).or_default() += 1;
        }
        seen.on_packet(origin, frame);
    });
    let span = last.zip(first).map_or(0.0, |(last, first)| last.since(first).as_secs_f64());
    let packets = Some(seen.told(span));
    let missing = unknown.iter().map(|(link, count)| {
        format!(
            "{count} packets of link type {link}, which is not read. Ethernet (1), raw IP (101) and \
             Linux's own (113, 276) are"
        )
    });
    let missing = missing.collect();
    let report = Report { sensor: args.name(), span, packets, missing, ..Report::default() };
    tell(&report, output);
    whole.map(|_| Exit::Done).map_err(|broken| {
        let text = format!("read ({shown}): {broken}. What is before that was read");
        Failure::new(Exit::Failed, "sensor.broken", text)
    })
}

fn watch(args: &SensorArgs, output: &Output) -> Result<Exit, Failure> {
    let (every, time, memory) = (args.every()?, args.time()?, args.memory()?);
    let (agents, snmp_every, community) = (args.agents()?, args.snmp_every()?, args.community()?);
    let mut monitor = args.to.as_deref().map(Monitor::connect).transpose()?;
    let captures = captures(args, memory)?;
    drop_rights()?;
    // From here on there are other threads, none of which has more rights than this one.
    interrupt::install(false);
    interrupt::call_on_interrupt(Some(Box::new(|| {})));
    let agents = Agents::start(&agents, &community, snmp_every)?;
    let seen = Seen::new(args.addresses(), args.norm_port.clone());
    let mut look = Look::new(args.name(), every.as_secs_f64(), seen, agents);
    if args.without_packets {
        look.missing.push("packets: not wanted (--without-packets)".to_owned());
    }
    let names: Vec<&str> = captures.iter().map(Capture::name).collect();
    output.text(&format!(
        "looking at {}",
        if names.is_empty() { "counters".to_owned() } else { names.join(", ") }
    ));
    output.event(&json!({"event": "start", "sensor": look.name, "interfaces": names}));
    look.captures = captures;
    let begun = Instant::now();
    let mut due = begun + every;
    loop {
        wait(&look.captures, due.saturating_duration_since(Instant::now()).min(ASKED))?;
        look.take();
        let over = time.is_some_and(|time| begun.elapsed() >= time);
        if Instant::now() >= due || over {
            let report = look.report();
            tell(&report, output);
            monitor.iter_mut().for_each(|monitor| monitor.tell(&report, output));
            due = Instant::now() + every;
        }
        if interrupt::is_asked() {
            return Ok(Exit::Interrupted);
        }
        if over {
            return Ok(Exit::Done);
        }
    }
}

/// Waits for packets; a little longer, so that there are some more.
fn wait(captures: &[Capture], patience: Duration) -> Result<(), Failure> {
    if captures.is_empty() {
        std::thread::sleep(patience);
        return Ok(());
    }
    let mut waited: Vec<PollFd<'_>> =
        captures.iter().map(|one| PollFd::from_borrowed_fd(one.as_fd(), PollFlags::IN)).collect();
    let timeout = Timespec::try_from(patience).ok();
    match poll(&mut waited, timeout.as_ref()) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) => {
            let gone = waited.iter().position(|one| {
                one.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
            });
            if let Some(gone) = gone {
                let text =
                    format!("interface ({}): has gone or was switched off", captures[gone].name());
                return Err(Failure::new(Exit::Failed, "sensor.interface", text));
            }
            std::thread::sleep(PAUSE);
            Ok(())
        }
        Err(error) => {
            let text = format!("packets ({error}): cannot be waited for");
            Err(Failure::new(Exit::Failed, "sensor.failed", text))
        }
    }
}

fn captures(args: &SensorArgs, memory: usize) -> Result<Vec<Capture>, Failure> {
    if args.without_packets {
        return Ok(Vec::new());
    }
    let names = if args.interface.is_empty() { interfaces_up() } else { args.interface.clone() };
    if names.is_empty() {
        let text = "interface (all): none is up. Name one, or use --without-packets";
        return Err(Failure::usage("sensor.interface", text));
    }
    let open = |name: &String| {
        Capture::open(name, memory, &args.norm_port).map_err(|error| refused(&error))
    };
    names.iter().map(open).collect()
}

fn refused(error: &CaptureError) -> Failure {
    let (exit, code) = match error {
        CaptureError::Unknown(_) | CaptureError::Kind(..) => (Exit::Usage, "sensor.interface"),
        CaptureError::Right(_) => (Exit::Permission, "sensor.right"),
        CaptureError::System(..) => (Exit::Resource, "sensor.failed"),
    };
    Failure::new(exit, code, error.to_string())
}

/// Those that are up, and no part of a bridge: that would be seen twice.
fn interfaces_up() -> Vec<String> {
    let all = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let is_wanted = |folder: &Path| {
        let word = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let kind = word("type").trim().parse().ok();
        // Tunnels say "unknown" while they are up.
        let is_up = match word("operstate").trim() {
            "up" => true,
            "unknown" => kind.is_some_and(is_tunnel),
            _ => false,
        };
        is_up
            && kind.is_some_and(|kind| kind == ETHERNET || is_tunnel(kind))
            && !folder.join("master").exists()
    };
    let mut names: Vec<String> = all
        .filter(|entry| is_wanted(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn drop_rights() -> Result<(), Failure> {
    give_up_rights().map_err(|error| {
        let text =
            format!("rights ({error}): cannot be given up, and the sensor does not run with them");
        Failure::new(Exit::Failed, "sensor.rights", text)
    })
}

fn tell(report: &Report, output: &Output) {
    if output.is_json() {
        let mut line = json!({"event": "sensor"});
        if let (Value::Object(line), Ok(Value::Object(more))) =
            (&mut line, serde_json::to_value(report))
        {
            line.extend(more);
        }
        output.event(&line);
    }
    said::lines(report).iter().for_each(|line| output.data(line));
}
