//! What was sent on the network, by kind of message.

use std::collections::BTreeMap;

use fanfare_proto::{Duration, NodeId, Time};
use fanfare_wire::{Cmd, Message};

use crate::results::series::Series;

/// Kinds of messages, as the report lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// NORM_INFO.
    Info,
    /// NORM_DATA.
    Data,
    /// NORM_CMD(FLUSH).
    Flush,
    /// NORM_CMD(EOT).
    Eot,
    /// NORM_CMD(SQUELCH).
    Squelch,
    /// NORM_CMD(CC).
    Cc,
    /// NORM_CMD(REPAIR_ADV).
    RepairAdv,
    /// NORM_CMD(ACK_REQ).
    AckReq,
    /// NORM_CMD(APPLICATION).
    Application,
    /// NORM_NACK.
    Nack,
    /// NORM_ACK.
    Ack,
    /// NORM_REPORT.
    Report,
    /// Anything else.
    Other,
}

impl Kind {
    /// All of them, in order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Info,
        Self::Data,
        Self::Flush,
        Self::Eot,
        Self::Squelch,
        Self::Cc,
        Self::RepairAdv,
        Self::AckReq,
        Self::Application,
        Self::Nack,
        Self::Ack,
        Self::Report,
        Self::Other,
    ];

    /// Its column in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Data => "data",
            Self::Flush => "flush",
            Self::Eot => "eot",
            Self::Squelch => "squelch",
            Self::Cc => "cc",
            Self::RepairAdv => "repair-adv",
            Self::AckReq => "ack-req",
            Self::Application => "application",
            Self::Nack => "nack",
            Self::Ack => "ack",
            Self::Report => "report",
            Self::Other => "other",
        }
    }

    fn of(message: &Message<'_>) -> Self {
        match message {
            Message::Info(_) => Self::Info,
            Message::Data(_) => Self::Data,
            Message::Cmd(Cmd::Flush(_)) => Self::Flush,
            Message::Cmd(Cmd::Eot(_)) => Self::Eot,
            Message::Cmd(Cmd::Squelch(_)) => Self::Squelch,
            Message::Cmd(Cmd::Cc(_)) => Self::Cc,
            Message::Cmd(Cmd::RepairAdv(_)) => Self::RepairAdv,
            Message::Cmd(Cmd::AckReq(_)) => Self::AckReq,
            Message::Cmd(Cmd::Application(_)) => Self::Application,
            Message::Nack(_) => Self::Nack,
            Message::Ack(_) => Self::Ack,
            Message::Report(_) => Self::Report,
        }
    }
}

/// Messages and their UDP payload bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// All that was sent in a run; each datagram once, however many heard it.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    kinds: [Count; Kind::ALL.len()],
    /// Symbol bytes within NORM_DATA: what efficiency is reckoned by.
    pub data_payload: u64,
    /// UDP payload of all kinds over time.
    pub bytes: Series,
    /// NACK cycles: see [`Traffic::loss_events`].
    cycles: BTreeMap<NodeId, (Time, usize)>,
    loss_events: Vec<u32>,
}

impl Traffic {
    /// Messages of one kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Count {
        self.kinds[kind as usize]
    }

    /// Loss events as the group sees them: NACKs to one sender within (K + 2) GRTT of the first
    /// belong to one. That is the time its aggregation and holdoff take (RFC 5740 5.4), so one
    /// event is one cycle of asking and repairing. Given are the NACKs of each.
    #[must_use]
    pub fn loss_events(&self) -> &[u32] {
        &self.loss_events
    }

    /// Counts a datagram.
    pub(crate) fn count(&mut self, now: Time, bytes: usize, message: Option<&Message<'_>>) -> Kind {
        let kind = message.map_or(Kind::Other, Kind::of);
        self.bytes.add(now, bytes as u64);
        let count = &mut self.kinds[kind as usize];
        count.messages += 1;
        count.bytes += bytes as u64;
        if let Some(Message::Data(data)) = message {
            self.data_payload += data.payload.len() as u64;
        }
        kind
    }

    /// A NACK to `sender`, whose cycles take `cycle`.
    pub(crate) fn on_nack(&mut self, now: Time, sender: NodeId, cycle: Duration) {
        // By the GRTT of now: when the estimate falls, a cycle that has begun gets shorter, too.
        let open = self.cycles.get(&sender).filter(|(since, _)| now < *since + cycle);
        let number = open.map_or(self.loss_events.len(), |(_, number)| *number);
        match self.loss_events.get_mut(number) {
            Some(nacks) => *nacks += 1,
            None => {
                self.loss_events.push(1);
                self.cycles.insert(sender, (now, number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nacks_of_one_cycle_are_one_loss_event() {
        let mut traffic = Traffic::default();
        for ms in [1, 5, 59, 61, 70, 500] {
            let now = Time::ZERO + Duration::from_millis(ms);
            traffic.on_nack(now, NodeId(1), Duration::from_millis(60));
        }
        assert_eq!(traffic.loss_events(), [3, 2, 1]);
    }

    #[test]
    fn kinds_are_listed_in_the_order_of_their_numbers() {
        assert!(Kind::ALL.iter().enumerate().all(|(i, kind)| *kind as usize == i));
    }
}
