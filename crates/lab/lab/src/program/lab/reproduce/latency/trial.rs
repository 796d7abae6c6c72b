//! One run: pings, a TCP flow, and a sensor that looks at both.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE, Stop};
use serde::Deserialize;

use super::{
    figures::{Course, Told, figures},
    passed::{Passed, follow, round_trips},
    pings::Pings,
    plan::{Plan, SETTLED, on_the_line},
    table::Row,
};
use crate::{
    fanfare::fanfare,
    lab::reproduce::stage::{Flow, Running, broken, lab, pause},
};

/// When programs have begun.
const BEGIN: Duration = Duration::from_secs(1);
/// How often the sensor reports: more often than it does by itself, so that a tail is not rounded up to its
/// second.
const EVERY: &str = "200ms";
/// The least of what counts as a segment with data, bytes.
const DATA: u16 = 500;

/// A line of the sensor.
#[derive(Debug, Deserialize)]
struct Report {
    packets: Seen,
}

#[derive(Debug, Deserialize)]
struct Seen {
    paths: Vec<Way>,
}

#[derive(Debug, Deserialize)]
struct Way {
    from: String,
    to: String,
    rtt: Option<f64>,
    rtt_base: Option<f64>,
}

pub(super) fn run(plan: &Plan, stop: &Stop) -> Result<Row, Failure> {
    let mut lab = lab(&plan.scenario(), u64::from(plan.seed) + 1)?;
    lab.announce().map_err(|error| crate::ending::failure(&error))?;
    let zero = Instant::now() - lab.elapsed();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = (since - lab.elapsed()).as_secs_f64();
    let [toc, lav1, lav2] = lab.hosts() else { return Err(broken("it has not three hosts")) };
    let captures = ["toc", "lav1", "lav2"].map(|node| follow(&lab, node));
    let mut command = toc.command(fanfare());
    command.args(["sensor", "--interface", INTERFACE, "--every", EVERY, "--json"]);
    let sensor = Running::<Report>::start(command, "fanfare-cli")?;
    pause(&lab, stop, BEGIN)?;
    let pings = Pings::start(toc, lav1)?;
    let flow = Flow::start(toc, lav2, plan.pace(), zero)?;
    pause(&lab, stop, Duration::from_secs_f64(plan.end()))?;
    let told = [(lav1, false), (lav1, true), (lav2, false), (lav2, true)]
        .map(|(lav, is_base)| told(&sensor, (toc, lav), is_base, zero));
    let addresses = [toc, lav1, lav2].map(|host| host.address().octets());
    drop((flow, pings, sensor));
    let counted = lab.down().map_err(|error| crate::ending::failure(&error))?;
    let mut passed: Vec<Vec<Passed>> = Vec::new();
    for capture in captures {
        passed.push(capture?.join().map_err(|_| broken("a capture failed"))?);
    }
    let [near, far1, far2] = &passed[..] else { return Err(broken("a capture is missing")) };
    let trips = |far: &[Passed], to: usize, least| -> Vec<Told> {
        let all = round_trips(near, far, (addresses[0], addresses[to]), least);
        all.into_iter().map(|(at, took)| (at - wall, took)).collect()
    };
    let paths = [trips(far1, 1, 0), trips(far2, 2, DATA)];
    let lines = on_the_line();
    let of = |number: usize| {
        let (told, path, line) = (&told[number], &paths[number / 2], lines[number / 2]);
        figures(&Course { steps: &plan.steps, told, path, line, settled: SETTLED })
    };
    Ok(Row {
        load: plan.load,
        seed: plan.seed,
        steps: plan.steps.len() - 1,
        void: counted.lateness.void,
        estimates: [of(0), of(1), of(2), of(3)],
    })
}

/// What was told of the way from one host to another: the round trip now, or the least lately.
fn told(
    sensor: &Running<Report>,
    (from, to): (&Host, &Host),
    is_base: bool,
    zero: Instant,
) -> Vec<Told> {
    let is = |text: &str, address: Ipv4Addr| text.parse() == Ok(address);
    let mut all = Vec::new();
    for (at, report) in sensor.said().iter() {
        let mut ways = report.packets.paths.iter();
        let way = ways.find(|way| is(&way.from, from.address()) && is(&way.to, to.address()));
        let rtt = way.and_then(|way| if is_base { way.rtt_base } else { way.rtt });
        all.extend(rtt.map(|rtt| (at.duration_since(zero).as_secs_f64(), rtt)));
    }
    all
}
