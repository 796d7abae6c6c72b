//! The hosts of a cell, and the network between them: a kernel bridge, or the emulator.
//!
//! In both, the link is behind the sender, and all receivers are behind the link. On a bridge the
//! link is a token bucket on the sender's cable. With TCP beside the transfer, which comes from a
//! host of its own, it is a token bucket on the first receiver's cable. In the emulator the link is
//! a hop to a switch, from which each receiver has a path of its own with delay and loss.

use super::cell::{Condition, RateCell};
use crate::{
    bench::{raw, star::Star},
    emulator::lateness::LatenessReport,
    error::{LabError, Refusal},
    host::Host,
    lab::Lab,
};
use fanfare_sim::Scenario;

/// The largest IP packet of these networks.
const MTU: usize = 1500;
/// Hosts and a network; gone when dropped.
#[derive(Debug)]
pub(super) enum Network {
    Bridge(Star),
    Emulated(Box<Lab>),
}

impl Network {
    /// Makes that of a cell.
    pub(super) fn up(cell: &RateCell) -> Result<Self, LabError> {
        match cell.is_emulated() {
            true => Ok(Self::Emulated(Box::new(Lab::up(&scenario(cell)?, 1)?))),
            false => Ok(Self::Bridge(bridge(cell)?)),
        }
    }

    fn hosts(&self) -> &[Host] {
        match self {
            Self::Bridge(star) => star.hosts(),
            Self::Emulated(lab) => lab.hosts(),
        }
    }
    pub(super) fn sender(&self) -> &Host {
        &self.hosts()[0]
    }
    pub(super) fn receivers(&self, cell: &RateCell) -> &[Host] {
        &self.hosts()[1..=cell.receivers]
    }
    /// Where TCP flows beside the transfer begin, if there are some.
    pub(super) fn other(&self, cell: &RateCell) -> Option<&Host> {
        self.hosts().get(cell.receivers + 1)
    }
    /// Changes what the link carries, bit/s. The emulator's does not change.
    pub(super) fn change(&self, cell: &RateCell, rate: u64) -> Result<(), LabError> {
        match self {
            Self::Bridge(star) => {
                star.change_sender(rate, RateCell::burst(rate), cell.queue_bytes())
            }
            Self::Emulated(_) => Ok(()),
        }
    }
    /// Bits per second of raw UDP at the slowest receiver, where no link is the limit; `None` where one is, or
    /// where the time is what counts.
    pub(super) fn raw(&self, cell: &RateCell) -> Result<Option<f64>, LabError> {
        let whole = cell.rate_bps.is_none() && cell.limit_ms.is_none();
        match self {
            Self::Bridge(star) if whole && cell.condition == Condition::Quiet => {
                raw::measure(star).map(Some)
            }
            _ => Ok(None),
        }
    }
    /// How late the emulator has been so far; `None` for a bridge.
    pub(super) fn lateness(&self) -> Result<Option<LatenessReport>, LabError> {
        match self {
            Self::Bridge(_) => Ok(None),
            Self::Emulated(lab) => Ok(Some(lab.snapshot()?.lateness)),
        }
    }
}

fn bridge(cell: &RateCell) -> Result<Star, LabError> {
    let beside = matches!(cell.condition, Condition::Beside { .. });
    let star = Star::up(cell.receivers + usize::from(beside), MTU, false)?;
    if let Some(rate) = cell.rate_bps {
        let (burst, queue) = (RateCell::burst(rate), cell.queue_bytes());
        match beside {
            true => star.limit_receiver(1, rate, burst, queue)?,
            false => star.limit_sender(rate, burst, queue)?,
        }
    }
    if let Condition::Comes(rate) = cell.condition {
        star.limit_receiver(cell.receivers, rate, RateCell::burst(rate), cell.queue_bytes())?;
    }
    Ok(star)
}

/// The network of a cell as a scenario.
fn scenario(cell: &RateCell) -> Result<Scenario, LabError> {
    Scenario::parse_for_laboratory(&text(cell), &|name| Err(format!("{name}: no file is read")))
        .map_err(|mistakes| {
            let why: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("cell ({}): {}. Report this", cell.name, why.join("; "));
            LabError::new(Refusal::System, "bench.cell", text)
        })
}

fn text(cell: &RateCell) -> String {
    let (fair, other) = match cell.condition {
        Condition::Beside { fair, .. } => (fair, true),
        _ => (false, false),
    };
    let kind = if fair { "fair" } else { "drop-tail" };
    let rate = cell.rate_bps.unwrap_or(1);
    let (receivers, queue, loss) = (cell.receivers, cell.queue_bytes(), cell.loss);
    let one_way = cell.round_trip_ms / 2.0;
    let mut text = format!(
        "[scenario]\n\
         name = \"rate\"\n\
         duration = \"24h\"\n\
         [[node]]\nname = \"sender\"\nhost = true\n\
         [[node]]\nname = \"receiver\"\ncount = {receivers}\nhost = true\n\
         [[node]]\nname = \"in\"\n\
         [[node]]\nname = \"out\"\n\
         [[link]]\nfrom = \"in\"\nto = \"out\"\nrate = \"{rate}bps\"\ndelay = \"0ms\"\n\
         queue = {{ kind = \"{kind}\", bytes = {queue} }}\n\
         [[link]]\nfrom = \"out\"\nto = \"in\"\ndelay = \"0ms\"\n\
         [[link]]\nfrom = \"sender\"\nto = \"in\"\nboth = true\ndelay = \"0ms\"\n\
         [[link]]\nfrom = \"out\"\nto = \"receiver*\"\ndelay = \"{one_way}ms\"\nloss = {loss}\n\
         [[link]]\nfrom = \"receiver*\"\nto = \"out\"\ndelay = \"{one_way}ms\"\n"
    );
    if other {
        text += "[[node]]\nname = \"other\"\nhost = true\n\
                 [[link]]\nfrom = \"other\"\nto = \"in\"\nboth = true\ndelay = \"0ms\"\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_emulated_cell_is_a_scenario_with_a_host_for_each_program() {
        let mut emulated = 0;
        for cell in RateCell::all().iter().filter(|cell| cell.is_emulated()) {
            let hosts = scenario(cell).unwrap().plan(1).emulated_hosts();
            let others = usize::from(matches!(cell.condition, Condition::Beside { .. }));
            assert_eq!(hosts.len(), 1 + cell.receivers + others, "{}", cell.name);
            assert_eq!(hosts[0].name, "sender");
            emulated += 1;
        }
        assert!(emulated > 30, "{emulated}");
    }

    #[test]
    fn half_of_the_round_trip_is_each_way_and_loss_is_toward_receivers() {
        let cell = RateCell::chosen(&["56k-10ms-1-half-loss0.1".to_owned()]).unwrap()[0];
        let text = text(&cell);
        assert_eq!(text.matches("delay = \"5ms\"").count(), 2, "{text}");
        assert_eq!(text.matches("loss = 0.001").count(), 1, "{text}");
        assert!(text.contains("rate = \"56000bps\"") && text.contains("bytes = 6000"), "{text}");
    }
}
