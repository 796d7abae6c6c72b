//! What `fanfare lab` prints: lines of JSON, or text. docs/reference/laboratory.md has the schema.

use fanfare_lab::{
    Accuracy, Carried, Conclusion, Ending, HostStatus, Lab, LinkCounts, ProgramReport, Snapshot,
    Status,
};
use fanfare_sim::Table;
use serde::Serialize;

use fanfare_command::{Exit, Output, units};

/// Links in a table for people.
const LINKS_SHOWN: usize = 32;

/// A lab is up.
#[derive(Debug, Serialize)]
pub(super) struct Up<'a> {
    event: &'static str,
    lab: &'a str,
    scenario: &'a str,
    hosts: Vec<HostStatus>,
}

impl<'a> Up<'a> {
    pub(super) fn new(lab: &'a Lab) -> Self {
        let host = |host: &fanfare_lab::Host| HostStatus {
            name: host.name().to_owned(),
            address: host.address().to_string(),
            namespace: host.namespace().to_owned(),
        };
        let hosts = lab.hosts().iter().map(host).collect();
        Self { event: "up", lab: lab.name(), scenario: lab.scenario(), hosts }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        output.text(&format!(
            "{} is up as {}: {} hosts",
            self.scenario,
            self.lab,
            self.hosts.len()
        ));
        for host in &self.hosts {
            output.text(&format!("  {:12} {}", host.name, host.address));
        }
        if let Some(host) = self.hosts.first() {
            output.text(&format!("try: fanfare lab exec {} -- ip address", host.name));
        }
    }
}

/// A lab of another process.
#[derive(Debug, Serialize)]
pub(super) struct StatusLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    status: &'a Status,
}

impl<'a> StatusLine<'a> {
    pub(super) fn new(status: &'a Status) -> Self {
        Self { event: "status", status }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        let Status { lab, scenario, process, counted, hosts } = self.status;
        let up = counted.seconds;
        output.data(&format!("{scenario} is up as {lab} (process {process}) for {up:.0} s"));
        let mut table = Table::new(&["host", "address", "namespace"]);
        for host in hosts {
            table.row([host.name.clone(), host.address.clone(), host.namespace.clone()]);
        }
        output.data(&table.to_string());
        output.data(&tables(counted));
    }
}

/// A program has ended.
#[derive(Debug, Serialize)]
pub(super) struct ProgramLine<'a> {
    event: &'static str,
    node: &'a str,
    command: &'a str,
    started_s: f64,
    seconds: f64,
    exit: Option<i32>,
    signal: Option<i32>,
    was_ended: bool,
    ok: bool,
    cpu_s: f64,
    stdout: String,
    stderr: String,
}

impl<'a> ProgramLine<'a> {
    pub(super) fn new(report: &'a ProgramReport) -> Self {
        let (exit, signal) = match report.ending {
            Some(Ending::Code(code)) => (Some(code), None),
            Some(Ending::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        Self {
            event: "program",
            node: &report.node,
            command: &report.command,
            started_s: report.started.as_secs_f64(),
            seconds: report.ran.as_secs_f64(),
            exit,
            signal,
            was_ended: report.was_ended,
            ok: report.ok,
            cpu_s: report.cpu_seconds,
            stdout: report.stdout.display().to_string(),
            stderr: report.stderr.display().to_string(),
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        let how = match (self.exit, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (_, Some(signal)) => format!("signal {signal}"),
            _ => String::from("not started"),
        };
        let mark = if self.ok { "ok" } else { "BAD" };
        let Self { node, seconds, command, .. } = self;
        output.text(&format!("{mark:3} {node:12} {how:10} {seconds:8.2} s  {command}"));
        if !self.ok {
            output.text(&format!("    {}", self.stderr));
        }
    }
}

/// The last line of `up` and `run`.
#[derive(Debug, Serialize)]
pub(super) struct Result<'a> {
    event: &'static str,
    ok: bool,
    exit: u8,
    scenario: &'a str,
    programs: usize,
    failed: usize,
    void: bool,
    overruns: u64,
    counted: &'a Snapshot,
}

impl<'a> Result<'a> {
    pub(super) fn new(scenario: &'a str, exit: Exit, counted: &'a Snapshot) -> Self {
        Self {
            event: "result",
            ok: exit == Exit::Done,
            exit: exit as u8,
            scenario,
            programs: 0,
            failed: 0,
            void: counted.lateness.void,
            overruns: 0,
            counted,
        }
    }
    pub(super) fn of_run(self, conclusion: &Conclusion) -> Self {
        Self {
            programs: conclusion.programs.len(),
            failed: conclusion.programs.iter().filter(|program| !program.ok).count(),
            overruns: conclusion.overruns,
            void: self.void || conclusion.overruns > 0,
            ..self
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
    }
}

/// The end of what counts something.
#[derive(Debug, Serialize)]
pub(super) struct Ended {
    event: &'static str,
    ok: bool,
    exit: u8,
    count: usize,
}

impl Ended {
    pub(super) fn new(count: usize) -> Self {
        Self { event: "result", ok: true, exit: 0, count }
    }
    pub(super) fn print(&self, output: &Output, what: &str) {
        output.json(self);
        output.text(&format!("{} {what}", self.count));
    }
}

/// One cell of a check.
pub(super) fn accuracy(accuracy: &Accuracy, output: &Output) {
    #[derive(Serialize)]
    struct Line<'a> {
        event: &'static str,
        #[serde(flatten)]
        accuracy: &'a Accuracy,
    }
    output.json(&Line { event: "accuracy", accuracy });
    let mut text = format!("{:32}", accuracy.cell);
    if let Some(error) = accuracy.rate_error {
        text += &format!(" rate {:+.3} %", error * 100.0);
    }
    if let Some([median, p95, p99, most]) = accuracy.delay_error_ms {
        text += &format!(" delay error ms p50 {median:.2} p95 {p95:.2} p99 {p99:.2} max {most:.1}");
    }
    if let Some(sigmas) = accuracy.loss_sigmas {
        text += &format!(" loss within {sigmas:.1} sigma");
    }
    let [median, p99] = accuracy.late_ms;
    text += &format!(
        "; {} sent, {} received, {}; late p50 {median:.2} p99 {p99:.2}: {}",
        accuracy.sent,
        accuracy.received,
        if accuracy.accounted { "all accounted for" } else { "NOT ALL ACCOUNTED FOR" },
        match (accuracy.void, accuracy.ok) {
            (true, _) => "void",
            (_, true) => "ok",
            _ => "MISSED",
        },
    );
    output.data(&text);
}

/// What was carried; whether it was all.
pub(super) fn carried(carried: &Carried, output: &Output) -> Exit {
    #[derive(Serialize)]
    struct Line<'a> {
        event: &'static str,
        exit: u8,
        #[serde(flatten)]
        carried: &'a Carried,
    }
    let exit = if carried.ok { Exit::Done } else { Exit::Failed };
    output.json(&Line { event: "result", exit: exit as u8, carried });
    let gbps = |bps: &f64| format!("{:.3}", bps / 1e9);
    let received: Vec<String> = carried.received_bps.iter().map(gbps).collect();
    let loss: Vec<String> = carried.loss.iter().map(|l| format!("{:.3}", l * 100.0)).collect();
    let [median, p99] = carried.late_ms;
    output.data(&format!(
        "sent {} Gbit/s, received {}; lost {} %; not fetched {}; {:.2} cores; late p50 {median:.2} \
         p99 {p99:.2} ms: {}",
        gbps(&carried.sent_bps),
        received.join(" "),
        loss.join(" "),
        carried.overruns,
        carried.cores,
        if carried.ok { "ok" } else { "MISSED" },
    ));
    exit
}

/// Hosts and links as tables; of many links, those that carried most.
pub(super) fn tables(counted: &Snapshot) -> String {
    let mut nodes =
        Table::new(&["host", "sent", "bytes", "received", "bytes", "unplugged", "unknown"]);
    for node in &counted.nodes {
        let numbers = [
            node.sent.packets,
            node.sent.bytes,
            node.received.packets,
            node.received.bytes,
            node.unplugged,
            node.unknown,
        ];
        nodes.row(std::iter::once(node.node.clone()).chain(numbers.map(|n| n.to_string())));
    }
    let columns = [
        "link", "came", "arrived", "twice", "lost", "dropped", "marked", "too big", "down",
        "waiting", "bytes",
    ];
    let mut links = Table::new(&columns);
    let mut used: Vec<&LinkCounts> = counted.links.iter().filter(|link| link.came > 0).collect();
    let more = used.len().saturating_sub(LINKS_SHOWN);
    if more > 0 {
        used.sort_by_key(|link| std::cmp::Reverse(link.bytes));
        used.truncate(LINKS_SHOWN);
    }
    for link in used {
        let name = format!("{}-{}", link.from, link.to);
        links.row(std::iter::once(name).chain(numbers_of(link).map(|n| n.to_string())));
    }
    let more = match more {
        0 => String::new(),
        more => format!("and {more} more links: --json shows all\n"),
    };
    format!("{nodes}\n{links}{more}\n{}", lateness(counted))
}

fn numbers_of(link: &LinkCounts) -> [u64; 10] {
    [
        link.came,
        link.arrived,
        link.duplicated,
        link.lost,
        link.dropped,
        link.marked,
        link.too_large,
        link.down,
        link.waiting,
        link.bytes,
    ]
}

/// How late the emulator was, and whether it had the machine's ear.
pub(super) fn lateness(counted: &Snapshot) -> String {
    let late = &counted.lateness;
    format!(
        "late ms: p50 {:.3}, p95 {:.3}, p99 {:.3}, max {:.1} of {} packets; pulse p99 {:.3}{}",
        late.median_ms,
        late.p95_ms,
        late.p99_ms,
        late.most_ms,
        late.packets,
        late.pulse_p99_ms,
        if counted.first { "" } else { "; without SCHED_FIFO" },
    )
}

/// For a line that changes.
pub(super) fn in_one_line(counted: &Snapshot) -> String {
    let sum = |of: fn(&fanfare_lab::NodeCounts) -> u64| counted.nodes.iter().map(of).sum::<u64>();
    format!(
        "{:.0} s, {} packets ({}) sent, {} received, late p99 {:.2} ms",
        counted.seconds,
        sum(|node| node.sent.packets),
        units::size(sum(|node| node.sent.bytes)),
        sum(|node| node.received.packets),
        counted.lateness.p99_ms,
    )
}
