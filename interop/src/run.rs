//! Runs one cell: a lab, the programs, the verdict.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cell::{Arrival, Cell, Feedback, LINE_QUEUE_MS, Party};
use crate::company::{self, Company};
use crate::fanfare::Fanfare;
use crate::impair::{self, Loss, Sent};
use crate::lab::{Family, Host, Lab};
use crate::nrl::Nrl;
use crate::payload::{self, Payload, Verdict};
use crate::process::{Process, wait_for};
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};

const GROUP: &str = "239.255.42.1";
const PORT: u16 = 6003;
/// First round-trip guess of NRL's sender in seconds: the lab's own is far below a millisecond.
const NRL_GRTT: &str = "0.02";
/// How long our receiver may take to end by itself once everything is there.
const GOODBYE: Duration = Duration::from_secs(30);

/// The two programs.
#[derive(Clone, Debug)]
pub struct Peers {
    /// NRL's.
    pub nrl: Nrl,
    /// Ours, when it has been built.
    pub fanfare: Option<Fanfare>,
}

/// What a cell gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// `None` when it passed, else what was wrong.
    pub failure: Option<String>,
    /// From the sender's start until sender and files were done.
    pub seconds: f64,
    /// What the sender's host put on the wire.
    pub sent: Sent,
}

/// Something that watches the bridge while a cell runs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep programs' output below this directory.
    pub keep: Option<PathBuf>,
    /// Write a capture of the sender's interface here.
    pub capture: Option<PathBuf>,
}

struct Receiver {
    process: Process,
    party: Party,
    directory: PathBuf,
}

/// Runs `cell`. A protocol failure is an [`Outcome`]; an error means that the run itself broke.
///
/// # Errors
/// Missing tools, no root, a full disk, Ctrl-C.
pub fn run(cell: &Cell, peers: &Peers, options: &Options) -> Result<Outcome, ToolError> {
    let scratch = Scratch::new()?;
    let files = make_files(cell, scratch.path())?;
    let receivers = cell.conditions.receivers;
    let lab = Lab::new(receivers + 1 + cell.conditions.company, Family::V4)?;
    let (sender_host, others) = split(&lab);
    let (receiver_hosts, company) = others.split_at(receivers);
    impair::apply(sender_host, Loss::default())?;
    for host in receiver_hosts {
        impair::apply(host, cell.conditions.loss)?;
        if let Some(rate) = cell.conditions.line_bps {
            host.limit_line(rate, LINE_QUEUE_MS)?;
        }
    }
    let capture =
        options.capture.as_deref().map(|to| start_capture(sender_host, to)).transpose()?;
    let mut experiment = Experiment { cell, peers, files, receivers: Vec::new() };
    let hosts = (sender_host, receiver_hosts, company);
    let outcome = experiment.go(hosts, scratch.path(), options)?;
    if let Some(mut capture) = capture {
        capture.terminate()?;
    }
    Ok(outcome)
}

struct Experiment<'a> {
    cell: &'a Cell,
    peers: &'a Peers,
    files: Vec<Payload>,
    receivers: Vec<Receiver>,
}

impl Experiment<'_> {
    /// `hosts`: of the sender, of the receivers, and of group nodes beside them.
    fn go(
        &mut self,
        (sender_host, hosts, company): (&Host, &[Host], &[Host]),
        scratch: &Path,
        options: &Options,
    ) -> Result<Outcome, ToolError> {
        let late = usize::from(self.cell.conditions.arrival == Arrival::Late);
        let (early, latecomers) = hosts.split_at(hosts.len() - late);
        for (index, host) in early.iter().enumerate() {
            self.start_receiver(host, index, scratch)?;
        }
        self.await_receivers()?;
        let peers = self.peers;
        let mut company = match company {
            [] => None,
            hosts => Some(Company::start(fanfare(peers)?, (GROUP, PORT), hosts, scratch)?),
        };
        let began = Instant::now();
        let deadline = began + Duration::from_secs(self.cell.conditions.limit_seconds);
        let mut sender = Process::start("sender", self.sender_command(sender_host)?)?;
        if let Some(host) = latecomers.first() {
            self.await_a_third(sender_host, &mut sender, deadline)?;
            self.start_receiver(host, early.len(), scratch)?;
        }
        if let Some(company) = &mut company {
            company.complete()?;
        }
        let failure = self.judge(&mut sender, deadline)?;
        let seconds = began.elapsed().as_secs_f64();
        let sent = impair::sent(sender_host)?;
        let unhurt = self.unhurt(hosts, sent)?;
        let failure = match &company {
            Some(company) => failure.or(company.judge()?).or_else(|| self.unheard_company()),
            None => failure,
        };
        let failure = failure.or(self.goodbye()?).or_else(|| self.inspect()).or(unhurt);
        if let Some(directory) = &options.keep {
            self.save(&sender, company.as_ref(), directory)?;
        }
        Ok(Outcome { failure, seconds, sent })
    }

    fn start_receiver(
        &mut self,
        host: &Host,
        index: usize,
        scratch: &Path,
    ) -> Result<(), ToolError> {
        let directory = scratch.join(format!("received-{index}"));
        fs::create_dir(&directory).map_err(tool::at(directory.display()))?;
        let party = self.cell.direction.receiver;
        let node_id = (index + 2).to_string();
        let unicast = self.cell.conditions.feedback == Feedback::Unicast;
        let mut command = match party {
            Party::Nrl => {
                let mut command = self.peers.nrl.command(host, "recv", GROUP, PORT);
                // "all" asks for what was sent before this receiver came.
                command.args(["--timeout", "600", "--sync", "all"]);
                command
            }
            Party::Ours => {
                let mut command = self.fanfare()?.command(host, "recv", GROUP, PORT);
                command.arg("--once");
                command
            }
        };
        command.args(["--node-id", &node_id]);
        if unicast {
            command.arg("--unicast-nack");
        }
        command.arg(&directory);
        let process = Process::start(format!("receiver {}", index + 1), command)?;
        self.receivers.push(Receiver { process, party, directory });
        Ok(())
    }

    // NRL's says "ready"; ours prints its first event when its socket is open.
    fn await_receivers(&self) -> Result<(), ToolError> {
        let deadline = Instant::now() + Duration::from_secs(1);
        let ready = || self.receivers.iter().all(|r| !r.process.events().is_empty());
        wait_for(deadline, ready).map(drop)
    }

    fn await_a_third(
        &self,
        host: &Host,
        sender: &mut Process,
        deadline: Instant,
    ) -> Result<(), ToolError> {
        let third = self.cell.conditions.bytes() / 3;
        let enough = || {
            impair::sent(host).is_ok_and(|sent| sent.payload_bytes() >= third)
                || !matches!(sender.try_exit(), Ok(None))
        };
        wait_for(deadline, enough).map(drop)
    }

    fn sender_command(&self, host: &Host) -> Result<std::process::Command, ToolError> {
        let c = &self.cell.conditions;
        let mut command = match self.cell.direction.sender {
            Party::Nrl => self.nrl_sender(host),
            Party::Ours => {
                let mut command = self.fanfare()?.command(host, "send", GROUP, PORT);
                if c.acks {
                    command.args(["--expect", &c.receivers.to_string()]);
                }
                // It waits for all it expects; the latecomer comes only after it has begun.
                command.args(["--wait", if c.arrival == Arrival::Late { "3s" } else { "20s" }]);
                command.args(["--rate", &c.rate_bps.to_string()]);
                command.args(["--cc", c.congestion_control]);
                command.args(["--fec", &format!("{}:{}", c.fec.data, c.fec.parity)]);
                command.args(["--parity", &c.fec.proactive.to_string(), "--no-gso"]);
                command.args(["--fec-id", &c.fec.id.to_string()]);
                // NRL's receivers acknowledge, but know no receipts.
                if self.cell.direction.receiver == Party::Nrl {
                    command.arg("--accept-plain");
                }
                command
            }
        };
        command.args(["--node-id", "1", "--segment", &c.segment.to_string()]);
        command.args(self.files.iter().map(|file| &file.path));
        Ok(command)
    }

    fn nrl_sender(&self, host: &Host) -> std::process::Command {
        let c = &self.cell.conditions;
        let mut command = self.peers.nrl.command(host, "send", GROUP, PORT);
        command.args(["--rate", &c.rate_bps.to_string(), "--grtt", NRL_GRTT]);
        if c.congestion_control != "fixed" {
            command.arg("--cc");
        }
        command.args(["--ndata", &c.fec.data.to_string(), "--nparity", &c.fec.parity.to_string()]);
        command.args(["--auto-parity", &c.fec.proactive.to_string()]);
        command.args(["--fec-id", &c.fec.id.to_string()]);
        if c.acks {
            let nodes: Vec<String> = (0..c.receivers).map(|i| (i + 2).to_string()).collect();
            command.args(["--ack", &nodes.join(",")]);
        }
        command
    }

    fn fanfare(&self) -> Result<&Fanfare, ToolError> {
        fanfare(self.peers)
    }

    /// Waits for the sender's end and for every file; says what was wrong.
    fn judge(&self, sender: &mut Process, deadline: Instant) -> Result<Option<String>, ToolError> {
        let Some(code) = sender.wait_until(deadline)? else {
            return Ok(Some(format!("sender not done in time; {}", self.missing())));
        };
        if !wait_for(deadline, || self.all_there())? {
            return Ok(Some(format!("sender exit {code}; {}", self.missing())));
        }
        if code != 0 {
            return Ok(Some(format!("sender exit {code}: {}", sender.last_words())));
        }
        Ok(None)
    }

    fn all_there(&self) -> bool {
        self.verdicts().all(|(_, _, verdict)| verdict == Verdict::Same)
    }

    fn missing(&self) -> String {
        let wrong: Vec<String> = self
            .verdicts()
            .filter(|(_, _, verdict)| *verdict != Verdict::Same)
            .map(|(who, file, verdict)| format!("{who}: {} {verdict:?}", file.name))
            .collect();
        if wrong.is_empty() { "all files right".into() } else { wrong.join(", ") }
    }

    fn verdicts(&self) -> impl Iterator<Item = (&str, &Payload, Verdict)> {
        self.receivers.iter().flat_map(|receiver| {
            self.files
                .iter()
                .map(|file| (receiver.process.label(), file, file.check(&receiver.directory)))
        })
    }

    /// Who lost nothing has the company's message, too: its publisher answers nobody.
    fn unheard_company(&self) -> Option<String> {
        let lossless = self.cell.conditions.loss.inbound_permille == 0;
        let deaf = self.receivers.iter().find(|one| !company::is_heard_by(&one.process));
        let deaf = deaf.filter(|_| lossless && self.cell.direction.receiver == Party::Nrl)?;
        Some(format!("{} lacks the company's message", deaf.process.label()))
    }

    /// Ends the receivers: ours must end by themselves, NRL's are told to.
    fn goodbye(&mut self) -> Result<Option<String>, ToolError> {
        let deadline = Instant::now() + GOODBYE;
        let mut failure = None;
        for receiver in &mut self.receivers {
            let code = match receiver.party {
                Party::Nrl => receiver.process.terminate()?,
                Party::Ours => receiver.process.wait_until(deadline)?,
            };
            let what = match code {
                Some(0) => continue,
                Some(code) => format!("exit {code}: {}", receiver.process.last_words()),
                None => "did not end by itself".into(),
            };
            failure.get_or_insert(format!("{} {what}", receiver.process.label()));
        }
        Ok(failure)
    }

    /// A pass without the loss that was asked for would prove nothing.
    fn unhurt(&self, hosts: &[Host], sent: Sent) -> Result<Option<String>, ToolError> {
        let permille = u64::from(self.cell.conditions.loss.inbound_permille);
        // Below 20 expected losses none at all is possible, if rarely; a latecomer hears less.
        if sent.packets * permille < 20_000 {
            return Ok(None);
        }
        for host in hosts {
            if impair::dropped(host)? == 0 {
                return Ok(Some(format!("{} lost nothing: the lab is broken", host.namespace())));
            }
        }
        Ok(None)
    }

    /// Looks once more when all programs have ended: what is there now is what a user gets.
    fn inspect(&self) -> Option<String> {
        if !self.all_there() {
            return Some(format!("after the end: {}", self.missing()));
        }
        let sent: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        self.receivers.iter().find_map(|receiver| {
            let names = payload::names_below(&receiver.directory);
            let extra: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| !sent.contains(name)).collect();
            let who = receiver.process.label();
            (!extra.is_empty()).then(|| format!("{who} left also: {}", extra.join(", ")))
        })
    }

    fn save(
        &self,
        sender: &Process,
        company: Option<&Company<'_>>,
        directory: &Path,
    ) -> Result<(), ToolError> {
        let directory = directory.join(self.cell.name().replace([' ', '→'], "_"));
        fs::create_dir_all(&directory).map_err(tool::at(directory.display()))?;
        sender.save(&directory.join("sender"));
        if let Some(company) = company {
            company.save(&directory);
        }
        for (index, receiver) in self.receivers.iter().enumerate() {
            receiver.process.save(&directory.join(format!("receiver-{}", index + 1)));
        }
        Ok(())
    }
}

fn fanfare(peers: &Peers) -> Result<&Fanfare, ToolError> {
    let missing = || ToolError::Missing { program: "fanfare (set FANFARE_BIN)".into() };
    peers.fanfare.as_ref().ok_or_else(missing)
}

fn split(lab: &Lab) -> (&Host, &[Host]) {
    match lab.hosts() {
        [sender, receivers @ ..] => (sender, receivers),
        [] => unreachable!("a lab here is always made with a sender"),
    }
}

fn make_files(cell: &Cell, scratch: &Path) -> Result<Vec<Payload>, ToolError> {
    let directory = scratch.join("sent");
    fs::create_dir(&directory).map_err(tool::at(directory.display()))?;
    let files = cell.conditions.files.iter();
    files.map(|(name, size)| Payload::make(&directory, name, *size)).collect()
}

fn start_capture(host: &Host, to: &Path) -> Result<Process, ToolError> {
    tool::require("dumpcap")?;
    // dumpcap refuses to write where another user owns the directory; its own temp file is fine.
    let mut command = host.command("dumpcap");
    command.args(["-q", "-i", "eth0", "-f", "udp", "-w"]).arg(to);
    let capture = Process::start("capture", command)?;
    wait_for(Instant::now() + Duration::from_secs(5), || to.exists())?;
    // The file appears before the capture is armed.
    std::thread::sleep(Duration::from_millis(300));
    Ok(capture)
}
