//! What goes wrong in the middle of a run.

use std::{ops::Range, time::Duration};

use crate::peer::messaging::MessagingSystem;

/// What goes wrong in the middle of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The broker is killed, and started again. Where there is none, it is the vehicle that publishes most.
    Killed,
    /// The medium is cut in two halves, and heals.
    Partition,
    /// The last vehicle comes later, and wants what was published before.
    Late,
}

impl Fault {
    /// What is published last has so long at least: connections that wait to be tried again wait up to a
    /// minute.
    pub const REST_MIN: Duration = Duration::from_secs(60);
    /// A cut of the medium.
    const CUT: Duration = Duration::from_secs(120);
    /// A machine that starts again takes about as long.
    const GONE: Duration = Duration::from_secs(30);
    /// The fourth publishes documents.
    const PUBLISHES_MOST: usize = 3;

    /// Messages are published for so long at least: half a minute before what goes wrong and after it.
    #[must_use]
    pub fn duration_min(self) -> Duration {
        match self {
            Self::Partition => Self::CUT + Duration::from_secs(60),
            Self::Killed | Self::Late => Self::GONE + Duration::from_secs(60),
        }
    }

    /// From when until when, where messages are published for `duration`.
    #[must_use]
    pub fn window(self, duration: Duration) -> Range<Duration> {
        let third = duration / 3;
        match self {
            Self::Killed => third..third + Self::GONE,
            Self::Partition => {
                let from = duration.saturating_sub(Self::CUT) / 2;
                from..from + Self::CUT
            }
            Self::Late => Duration::ZERO..third,
        }
    }

    /// The vehicle, counted from 0, whose program is not there meanwhile. None where the broker is killed, or
    /// the medium cut.
    #[must_use]
    pub fn absent(self, system: MessagingSystem, vehicles: usize) -> Option<usize> {
        match self {
            Self::Killed => (!system.has_broker()).then_some(Self::PUBLISHES_MOST),
            Self::Partition => None,
            Self::Late => vehicles.checked_sub(1),
        }
    }

    /// Whether the fault is between these two vehicles.
    #[must_use]
    pub fn is_between(self, system: MessagingSystem, vehicles: usize, pair: [usize; 2]) -> bool {
        match (self, self.absent(system, vehicles)) {
            (_, Some(absent)) => pair.contains(&absent),
            (Self::Partition, None) => (pair[0] < vehicles / 2) != (pair[1] < vehicles / 2),
            (_, None) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_time_within_the_run_and_is_between_those_whom_it_parts() {
        let second = Duration::from_secs;
        let window = |fault: Fault| fault.window(fault.duration_min());
        assert_eq!(window(Fault::Killed), second(30)..second(60));
        assert_eq!(window(Fault::Partition), second(30)..second(150));
        assert_eq!(window(Fault::Late), second(0)..second(30));
        assert_eq!(Fault::Killed.window(second(180)), second(60)..second(90));
        let (broker, none) = (MessagingSystem::Nats, MessagingSystem::Fanfare);
        assert_eq!([broker, none].map(|one| Fault::Killed.absent(one, 24)), [None, Some(3)]);
        assert_eq!(Fault::Late.absent(broker, 24), Some(23));
        assert!(Fault::Killed.is_between(broker, 24, [7, 8]));
        assert!(!Fault::Killed.is_between(none, 24, [7, 8]));
        assert!(Fault::Killed.is_between(none, 24, [3, 8]));
        assert!(Fault::Partition.is_between(broker, 24, [11, 12]));
        assert!(!Fault::Partition.is_between(broker, 24, [0, 11]));
    }
}
