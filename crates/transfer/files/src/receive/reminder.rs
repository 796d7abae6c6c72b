//! Saying again what an announcement that can be lost has said: that an object could not be had.

use std::time::Duration;

use fanfare_proto::{ObjectKey, Time};

const INTERVAL: Duration = Duration::from_secs(1);
const TIMES: u8 = 5;

/// When to say it again, and of whose objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reminder {
    pub(super) about: ObjectKey,
    pub(super) at: Time,
    left: u8,
}

impl Reminder {
    /// It was said now.
    pub(super) fn new(now: Time, about: ObjectKey) -> Self {
        Self { about, at: now + INTERVAL, left: TIMES }
    }

    /// It is said once more; `None` when it has been said often enough.
    pub(super) fn again(self, now: Time) -> Option<Self> {
        (self.left > 0).then(|| Self { at: now + INTERVAL, left: self.left - 1, ..self })
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    #[test]
    fn it_is_said_five_times_more_a_second_apart() {
        let about =
            ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(1) };
        let first = Some(Reminder::new(Time::ZERO, about));
        let seconds = std::iter::successors(first, |reminder| reminder.again(reminder.at))
            .map(|reminder| reminder.at.as_secs_f64());
        assert_eq!(seconds.collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}
