//! One file over one road, from the start of the sender's program to its end.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{network::RoadNetwork, peers::RoadPeers, road::RoadCase, sender::RoadSender};
use crate::{
    bench::rate::Ours,
    error::LabError,
    host::Host,
    payload,
    peer::{
        Peer, Sign, Task,
        delivery::{self, Delivery, Order},
    },
    stop::Stop,
};

/// A sender has so many times what the file takes on its line.
const PATIENCE: f64 = 4.0;
/// TCP sends the file so many times, once to each, and needs a little more than that. Beyond this number it
/// is not waited for.
const TCP_PATIENCE: f64 = 1.3;
const TCP_RECEIVERS: usize = 4;
/// Time beside that, for gathering receivers and for the end.
const BESIDE: Duration = Duration::from_secs(20);

/// One transfer, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoadTransfer {
    /// The road's name.
    pub road: String,
    /// Receivers.
    pub receivers: usize,
    /// Sender of the transfer.
    pub sender: RoadSender,
    /// Time from the start of the sender's program until its end; `None` when it failed, or was stopped, or when
    /// the file did not come to all.
    pub seconds: Option<f64>,
    /// Bytes on the sender's cable over the file's bytes.
    pub sent_per_file: f64,
    /// Packets that the shaper dropped.
    pub dropped: u64,
    /// The sender's exit code; `None` when it was stopped after its time.
    pub exit: Option<i32>,
    /// Reason why it is not complete.
    pub why: String,
}

/// Setting that all transfers of a road have.
pub(super) struct TransferSetup<'a> {
    pub(super) program: &'a Path,
    pub(super) road: &'a RoadCase,
    pub(super) peers: &'a RoadPeers,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a Stop,
}

impl TransferSetup<'_> {
    /// Runs one, in a network of its own.
    pub(super) fn shoot(&self, sender: RoadSender) -> Result<RoadTransfer, LabError> {
        let directory = self.scratch.join("transfer");
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", directory.display()), &error)
        };
        fs::create_dir_all(&directory).map_err(failed)?;
        let network = RoadNetwork::up(self.road)?;
        let task = self.task(sender, network.receivers()).map_err(failed)?;
        let (fanfare, program) = (&*self.peers.fanfare, self.program);
        let ours = Ours { fanfare, program, told: None, ceiling: true };
        let system = sender.control().system();
        let peer: &dyn Peer = self.peers.other(system).unwrap_or(&ours);
        let order = Order {
            system,
            peer,
            task: &task,
            directory: &directory,
            stop: self.stop,
            interrupted: "bench (interrupted): not all was measured. Run it again",
        };
        let transfer = self.deliver(sender, order, &network);
        fs::remove_dir_all(&directory).map_err(failed)?;
        transfer
    }

    fn task(&self, sender: RoadSender, receivers: &[Host]) -> std::io::Result<Task> {
        let source = source(self.scratch);
        if !source.exists() {
            payload::write(&source, 0, self.road.size)?;
        }
        Ok(Task {
            source,
            receivers: receivers.iter().map(Host::address).collect(),
            capacity: self.road.fastest(),
            round_trip: self.road.line.round_trip(),
            limit: longest(self.road, sender),
            parity: None,
        })
    }

    fn deliver(
        &self,
        sender: RoadSender,
        order: Order<'_>,
        network: &RoadNetwork,
    ) -> Result<RoadTransfer, LabError> {
        let mut delivery = Delivery::to(order, network.receivers(), &[])?;
        let before = network.counted()?;
        let begun = Instant::now();
        let mut program = delivery.send(network.sender(), &sender.options())?;
        let mut why = delivery.wait(&mut program)?;
        if why.is_empty() {
            why = delivery.wait_for_sender(&mut program)?;
        }
        let after = network.counted()?;
        // Before it is asked to end, which gives it a code, too.
        let exit = program.code();
        let ended = program.saw(Sign::Ending).map(|at| (at - begun).as_secs_f64());
        delivery.end(&mut program);
        let source = &order.task.source;
        let sent = delivery::hash(source).map_err(|error| {
            LabError::system(format_args!("file ({})", source.display()), &error)
        })?;
        if why.is_empty() && delivery.right(sent).contains(&false) {
            "a file is not what was sent".clone_into(&mut why);
        }
        let size = self.road.size as f64;
        Ok(RoadTransfer {
            road: self.road.name(),
            receivers: self.road.receivers,
            sender,
            seconds: ended.filter(|_| why.is_empty()),
            sent_per_file: (after.sent_bytes - before.sent_bytes) as f64 / size,
            dropped: after.dropped - before.dropped,
            exit,
            why,
        })
    }
}

/// After so long a transfer is given up.
fn longest(road: &RoadCase, sender: RoadSender) -> Duration {
    let copies = road.receivers.min(TCP_RECEIVERS) as f64;
    let patience = if sender.sends_copies() { TCP_PATIENCE * copies } else { PATIENCE };
    Duration::from_secs_f64(road.on_the_wire() * patience) + BESIDE
}

/// Path of a road's file.
pub(super) fn source(scratch: &Path) -> PathBuf {
    scratch.join("payload.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_has_the_time_of_a_copy_for_each_receiver_and_of_four_at_most() {
        let seconds = |sender, receivers| {
            let road = RoadCase::chosen(&["tbf-1M-16k".to_owned()], &[receivers]).unwrap()[0];
            longest(&road, sender).as_secs_f64()
        };
        assert!((seconds(RoadSender::Default, 3) - 40.0).abs() < 0.1);
        assert!((seconds(RoadSender::Tcp, 1) - 26.5).abs() < 0.1);
        assert!((seconds(RoadSender::TcpBbr, 10) - 46.0).abs() < 0.1);
        assert!((seconds(RoadSender::Uftp, 10) - 40.0).abs() < 0.1);
    }
}
