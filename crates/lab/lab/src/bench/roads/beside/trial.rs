//! One run of a case: the others have the line first, then the transfer comes, and after a while it counts.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    case::{BesideCase, RATE},
    network::BesideNetwork,
};
use crate::{
    bench::{
        rate::Flows,
        roads::fairness::{jain, shares},
    },
    error::{LabError, Refusal},
    host::INTERFACE,
    peer::program::Program,
    stop::Stop,
    wait::WakeEvent,
};

/// The others have the line to themselves for so long.
const ALONE: Duration = Duration::from_secs(3);
/// Then the transfer comes, and has so long to find its share.
const SETTLE: Duration = Duration::from_secs(10);
/// Time that counts: some ten sawteeth of CUBIC on this line.
const COUNTED: Duration = Duration::from_secs(30);
/// Bytes of the file: more than the line carries in all of this time.
pub(super) const SIZE: u64 = RATE / 8 * 60;

/// One run, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideRun {
    /// Case: who was beside it, and which queue they shared.
    pub case: BesideCase,
    /// Bits of packets that each flow brought in a second, the transfer by default first.
    pub each_bps: Vec<f64>,
    /// What each has of an equal share.
    pub shares: Vec<f64>,
    /// Jain's index of these: 1 is fair.
    pub jain: f64,
    /// What all have together, of the line.
    pub used: f64,
    /// Packets that the queue dropped meanwhile.
    pub dropped: u64,
    /// Exit code of a transfer that ended before its time; `None` when all went on, as they should.
    pub exit: Option<i32>,
    /// Last line of that one.
    pub why: String,
}

/// Setting of a run.
#[derive(Debug)]
pub(super) struct BesideTrial<'a> {
    pub(super) case: BesideCase,
    pub(super) fanfare: &'a Path,
    pub(super) source: &'a Path,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a Stop,
}

impl BesideTrial<'_> {
    pub(super) fn run(&self) -> Result<BesideRun, LabError> {
        let directory = self.scratch.join("beside");
        fs::create_dir_all(&directory).map_err(failed)?;
        let run = self.run_in(&directory);
        fs::remove_dir_all(&directory).map_err(failed)?;
        run
    }

    fn run_in(&self, directory: &Path) -> Result<BesideRun, LabError> {
        let network = BesideNetwork::up(self.case)?;
        let (mut programs, mut flows) = (Vec::new(), Vec::new());
        for flow in 1..=self.case.flows {
            match self.case.rival.congestion() {
                Some(control) => {
                    let (from, to) = (network.sender(flow)?, network.receiver(flow)?);
                    flows.push(Flows::start(from, to, 1, control)?);
                }
                None => programs.extend(self.start(&network, flow, directory)?),
            }
        }
        self.wait(ALONE)?;
        programs.extend(self.start(&network, 0, directory)?);
        self.wait(SETTLE)?;
        let (before, begun) = (network.counted()?, Instant::now());
        self.wait(COUNTED)?;
        let (after, took) = (network.counted()?, begun.elapsed().as_secs_f64());
        let (mut exit, mut why) = (None, String::new());
        for program in &mut programs {
            program.notice().map_err(failed)?;
            if let (Some(code), None) = (program.code(), exit) {
                (exit, why) = (Some(code), program.last_line());
            }
        }
        programs.iter_mut().for_each(Program::end);
        drop(flows);
        let flows = after.received.iter().zip(&before.received);
        let each: Vec<f64> = flows.map(|flow| (flow.0 - flow.1) as f64 * 8.0 / took).collect();
        Ok(BesideRun {
            case: self.case,
            shares: shares(&each),
            jain: jain(&each),
            used: each.iter().sum::<f64>() / RATE as f64,
            dropped: after.dropped - before.dropped,
            each_bps: each,
            exit,
            why,
        })
    }

    /// Starts a receiver and a sender by default, in a group of their own.
    fn start(
        &self,
        network: &BesideNetwork,
        flow: usize,
        directory: &Path,
    ) -> Result<[Program; 2], LabError> {
        let group = format!("239.255.42.{}:6003", flow + 1);
        let common = ["--interface", INTERFACE, "--group", &group, "--json"];
        let files = directory.join(format!("files{flow}"));
        fs::create_dir_all(&files).map_err(failed)?;
        let event = Arc::new(WakeEvent::new().map_err(failed)?);
        let mut receive = network.receiver(flow)?.command(self.fanfare);
        receive.arg("recv").args(common).arg("--once").arg(&files);
        let mut send = network.sender(flow)?.command(self.fanfare);
        send.arg("send").args(common).args(["--expect", "1"]).arg(self.source);
        let begin = |command, name: &str| {
            let log = directory.join(format!("{name}{flow}.log"));
            Program::start(command, &log, &event).map_err(failed)
        };
        Ok([begin(receive, "receiver")?, begin(send, "sender")?])
    }

    fn wait(&self, longest: Duration) -> Result<(), LabError> {
        let text = "bench (interrupted): not all was measured. Run it again";
        match self.stop.wait(longest) {
            true => Err(LabError::new(Refusal::System, "lab.interrupted", text)),
            false => Ok(()),
        }
    }
}

fn failed(error: std::io::Error) -> LabError {
    LabError::system("bench (its programs)", &error)
}

impl BesideRun {
    /// True if all flows brought something until the end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.exit.is_none() && self.each_bps.iter().all(|bps| *bps > 0.0)
    }
}
