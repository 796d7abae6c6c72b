//! One imaging.

use std::{
    collections::BTreeMap,
    process::Stdio,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE, Lab, Stop};
use serde_json::Value;

use super::{
    table::{Named, Row},
    trouble::{KINDS, Kind, Slowed, SmallDisk, overruns},
};
use crate::{
    ending::failure,
    fanfare::fanfare,
    lab::reproduce::stage::{Directory, Running, broken, document, lab, pause},
};

/// A cable begins to lose, and a machine to be slow, so long after the lab came up; data flows by then.
const LOSES: Duration = Duration::from_secs(45);
const SLOWS: Duration = Duration::from_secs(60);
const ENDS: Duration = Duration::from_secs(110);
/// What the cable loses.
const LOSS: &str = "5%";
/// Files, bytes of each, and the rate: some hundred seconds.
const FILES: usize = 5;
const BYTES: u64 = 6_400_000;
const RATE: &str = "2500k";
/// Of the small disk: three of the files.
const DISK: u64 = 20_000_000;
/// The folder with the files.
const IMAGE: &str = "image";
/// How often to look.
const LOOK: Duration = Duration::from_millis(100);
const PAGE: &str = "127.0.0.1:7979";

/// When something was first so, seconds since the lab came up.
type Firsts<K> = Mutex<BTreeMap<K, f64>>;

pub(super) fn run(machines: usize, repetition: u32, stop: &Stop) -> Result<Row, Failure> {
    let lab = lab(&scenario(machines), u64::from(repetition) + 1)?;
    let disks = Directory::make(&format!("imaging-{repetition}"))?;
    for number in 0..FILES {
        disks.fill(disks.folder(IMAGE)?.join(format!("part-{number}.img")), BYTES)?;
    }
    let host = |name: &str| lab.host(name).ok_or_else(|| broken("a host is missing"));
    let _small = SmallDisk::mount(&disks.folder(Kind::Full.machine())?, DISK)?;
    let mut receivers = BTreeMap::new();
    for host in lab.hosts().iter().filter(|host| host.name() != "server") {
        receivers.insert(host.name().to_owned(), receiver(host, &disks)?);
    }
    let server = host("server")?;
    let sender = sender(server, &disks, machines)?;
    let (page, terminal) = (Firsts::default(), Firsts::default());
    let over = Stop::new().map_err(|error| failure(&error))?;
    let shows = thread::scope(|scope| {
        scope.spawn(|| look_at_page(&lab, server, &over, &page));
        scope.spawn(|| look_at_terminal(&lab, server, &over, &terminal));
        let shows = shows(&lab, &receivers, stop);
        over.set();
        shows
    })?;
    let began = sender.said().iter().any(|(_, said)| said["event"] == "sending");
    drop((sender, receivers));
    let counted = lab.down().map_err(|error| failure(&error))?;
    if !began {
        return Err(broken("nothing was sent"));
    }
    let page = page.into_inner().unwrap_or_else(PoisonError::into_inner);
    let terminal = terminal.into_inner().unwrap_or_else(PoisonError::into_inner);
    let named = KINDS.map(|kind| {
        let key = (kind.machine().to_owned(), kind.cause().to_owned());
        let late = |at: Option<&f64>| at.zip(shows.get(kind.cause())).map(|(at, show)| at - show);
        Named { page: late(page.get(&key)), terminal: late(terminal.get(kind.cause())) }
    });
    Ok(Row { machines, repetition, void: counted.lateness.void, named, wrong: wrong(&page) })
}

/// What the page said of machines that nothing is wrong with, or with another cause.
fn wrong(page: &BTreeMap<(String, String), f64>) -> Vec<String> {
    let is_wrong = |((machine, cause), _): &(&(String, String), &f64)| {
        let is = KINDS.iter().any(|kind| kind.machine() == machine && kind.cause() == cause);
        // Its disk has little room from the beginning: that is said, too.
        !(is || (machine == Kind::Full.machine() && cause == "disk-short"))
    };
    let text = |((machine, cause), at): (&(String, String), &f64)| {
        format!("{machine}: {cause} ({at:.1} s after the start)")
    };
    page.iter().filter(is_wrong).map(text).collect()
}

/// Does to machines what is to be done; when each trouble showed, by cause.
fn shows(
    lab: &Lab,
    receivers: &BTreeMap<String, Running<Value>>,
    stop: &Stop,
) -> Result<BTreeMap<&'static str, f64>, Failure> {
    let mut shows = BTreeMap::from([(Kind::Lossy.cause(), LOSES.as_secs_f64())]);
    let of = |kind: Kind| receivers.get(kind.machine()).ok_or_else(|| broken("a host is missing"));
    let (slow, full) = (of(Kind::Slow)?, of(Kind::Full)?);
    let (mut slowed, before) = (None, overruns(slow.id()));
    while lab.elapsed() < ENDS {
        pause(lab, stop, lab.elapsed() + LOOK / 2)?;
        let now = lab.elapsed().as_secs_f64();
        if slowed.is_none() && lab.elapsed() >= SLOWS {
            slowed = Some(Slowed::start(slow.id())?);
        }
        if overruns(slow.id()) > before {
            shows.entry(Kind::Slow.cause()).or_insert(now);
        }
        let is_full = |said: &Value| said.to_string().contains("disk-full");
        if full.said().iter().any(|(_, said)| is_full(said)) {
            shows.entry(Kind::Full.cause()).or_insert(now);
        }
    }
    Ok(shows)
}

fn look_at_page(lab: &Lab, server: &Host, over: &Stop, named: &Firsts<(String, String)>) {
    while !over.wait(LOOK) {
        let Some(page) = document(server, PAGE, "/api/state") else { continue };
        let now = lab.elapsed().as_secs_f64();
        let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
        for alert in page["alerts"].as_object().into_iter().flat_map(|alerts| alerts.values()) {
            let text = |field: &str| alert[field].as_str().unwrap_or_default().to_owned();
            named.entry((text("subject"), text("cause"))).or_insert(now);
        }
    }
}

fn look_at_terminal(lab: &Lab, server: &Host, over: &Stop, named: &Firsts<&'static str>) {
    while !over.wait(LOOK) {
        let mut command = server.command(fanfare());
        command.args(["watch", "--once"]).stdin(Stdio::null()).stderr(Stdio::null());
        let Ok(shown) = command.output() else { continue };
        let (shown, now) =
            (String::from_utf8_lossy(&shown.stdout).into_owned(), lab.elapsed().as_secs_f64());
        let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in KINDS.iter().filter(|kind| shown.contains(&kind.sentence())) {
            named.entry(kind.cause()).or_insert(now);
        }
    }
}

/// A switch, the sender and the machines at it.
fn scenario(machines: usize) -> String {
    let (machine, loses) = (Kind::Lossy.machine(), LOSES.as_secs());
    format!(
        "[scenario]\nname = \"imaging\"\nduration = \"3600s\"\n\
         [[node]]\nname = \"server\"\nhost = true\n\
         [[node]]\nname = \"pc\"\ncount = {machines}\nhost = true\n[[node]]\nname = \"switch\"\n\
         [[link]]\nfrom = \"server\"\nto = \"switch\"\nboth = true\nrate = \"100Mbps\"\ndelay = \"0.2ms\"\n\
         [[link]]\nfrom = \"switch\"\nto = \"pc*\"\nboth = true\nrate = \"100Mbps\"\ndelay = \"0.2ms\"\n\
         [[change]]\nat = \"{loses}s\"\n\
         link = {{ from = \"switch\", to = \"{machine}\", loss = \"{LOSS}\" }}\n"
    )
}

fn receiver(host: &Host, disks: &Directory) -> Result<Running<Value>, Failure> {
    let mut command = host.command(fanfare());
    command.args(["recv", "--json", "--interface", INTERFACE, "--name", host.name()]);
    command.arg(disks.folder(host.name())?);
    Running::start(command, "fanfare-cli")
}

fn sender(host: &Host, disks: &Directory, machines: usize) -> Result<Running<Value>, Failure> {
    let mut command = host.command(fanfare());
    command.args(["send", "--json", "--interface", INTERFACE, "--rate", RATE, "--watch"]);
    command.args(["--expect", &machines.to_string()]).arg(disks.of(IMAGE));
    Running::start(command, "fanfare-cli")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::reproduce::stage;

    #[test]
    fn the_scenario_is_one_and_only_what_is_not_so_is_wrong() {
        assert!(stage::scenario(&scenario(8)).is_ok());
        let said = [
            ("pc2", "lossy-path"),
            ("pc7", "disk-short"),
            ("pc2", "silent"),
            ("pc3", "lossy-path"),
        ];
        let page = said.map(|(machine, cause)| ((machine.to_owned(), cause.to_owned()), 1.0));
        assert_eq!(
            wrong(&BTreeMap::from(page)),
            ["pc2: silent (1.0 s after the start)", "pc3: lossy-path (1.0 s after the start)"]
        );
    }
}
