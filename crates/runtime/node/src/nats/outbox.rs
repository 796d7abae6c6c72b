//! What waits to go to NATS: while nobody is there, or more comes than goes.
//!
//! The oldest gives way: of what could not be told for long, the newest is worth most. While a server is there, the
//! bridge does not let it come so far: it takes no more of the group than fits here.

use std::{collections::VecDeque, fmt};

use crate::{QueueLimit, proto::Time};

/// A message for NATS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) subject: String,
    /// Known by it in NATS.
    pub(crate) id: String,
    pub(crate) content: Vec<u8>,
    /// Of no use after.
    pub(crate) expires: Option<Time>,
    /// How often it was refused.
    pub(crate) refused: u32,
}

/// The queue.
pub(crate) struct Outbox {
    messages_max: usize,
    bytes_max: usize,
    queue: VecDeque<Parcel>,
    bytes: usize,
    /// Gave way to newer ones.
    pub(crate) dropped: u64,
    /// Had waited until they were of no use.
    pub(crate) expired: u64,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbox({} messages, {} bytes)", self.queue.len(), self.bytes)
    }
}

impl Outbox {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        let messages_max = limit.messages;
        let bytes_max = usize::try_from(limit.bytes).unwrap_or(usize::MAX);
        let queue = VecDeque::new();
        Self { messages_max, bytes_max, queue, bytes: 0, dropped: 0, expired: 0 }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// True if one more would have others give way, or may.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= self.messages_max || self.bytes >= self.bytes_max
    }

    /// Adds one behind the others.
    pub(crate) fn push(&mut self, parcel: Parcel) {
        self.bytes += parcel.content.len();
        self.queue.push_back(parcel);
        self.shed();
    }

    /// Puts back what could not be sent, in its order, before the others.
    pub(crate) fn put_back(&mut self, parcels: Vec<Parcel>) {
        for parcel in parcels.into_iter().rev() {
            self.bytes += parcel.content.len();
            self.queue.push_front(parcel);
        }
        self.shed();
    }

    fn shed(&mut self) {
        while self.queue.len() > self.messages_max || self.bytes > self.bytes_max {
            let Some(oldest) = self.queue.pop_front() else { return };
            self.bytes -= oldest.content.len();
            self.dropped += 1;
        }
    }

    /// Up to `count` of the oldest that are still of use.
    pub(crate) fn take(&mut self, now: Time, count: usize) -> Vec<Parcel> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let Some(parcel) = self.queue.pop_front() else { break };
            self.bytes -= parcel.content.len();
            if parcel.expires.is_some_and(|end| end <= now) {
                self.expired += 1;
            } else {
                taken.push(parcel);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::Duration;

    fn parcel(id: &str, bytes: usize, expires: Option<u64>) -> Parcel {
        let expires = expires.map(|ms| Time::ZERO + Duration::from_millis(ms));
        let content = vec![0; bytes];
        Parcel { subject: "a".into(), id: id.into(), content, expires, refused: 0 }
    }
    fn ids(parcels: &[Parcel]) -> Vec<&str> {
        parcels.iter().map(|parcel| parcel.id.as_str()).collect()
    }

    #[test]
    fn the_oldest_give_way_by_number_and_by_bytes_and_are_counted() {
        let mut outbox = Outbox::new(QueueLimit { messages: 3, bytes: 1000 });
        ["a", "b", "c", "d"].into_iter().for_each(|id| outbox.push(parcel(id, 10, None)));
        assert_eq!((outbox.len(), outbox.dropped), (3, 1));
        outbox.push(parcel("e", 985, None));
        assert_eq!(outbox.dropped, 3);
        assert_eq!(ids(&outbox.take(Time::ZERO, 10)), ["d", "e"]);
        outbox.push(parcel("f", 1001, None));
        assert_eq!((outbox.len(), outbox.bytes, outbox.dropped), (0, 0, 4));
    }

    #[test]
    fn what_is_put_back_goes_first_in_its_order_and_what_has_expired_goes_nowhere() {
        let mut outbox = Outbox::new(QueueLimit { messages: 10, bytes: 1000 });
        ["a", "b"].into_iter().for_each(|id| outbox.push(parcel(id, 1, None)));
        outbox.push(parcel("late", 1, Some(5)));
        outbox.push(parcel("c", 1, Some(50)));
        let taken = outbox.take(Time::ZERO, 2);
        outbox.put_back(taken);
        let now = Time::ZERO + Duration::from_millis(10);
        assert_eq!(ids(&outbox.take(now, 10)), ["a", "b", "c"]);
        assert_eq!((outbox.expired, outbox.bytes), (1, 0));
    }
}
