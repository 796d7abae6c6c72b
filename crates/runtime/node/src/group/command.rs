//! What an application asks of a running member.

use std::sync::mpsc::SyncSender;

use fanfare_messaging::{
    Options, Subscription, SubscriptionId, Topic, description::PRIORITY_DEFAULT,
};
use fanfare_proto::{Bitrate, ObjectKey};

use super::{
    GroupError,
    body::Body,
    event::GroupStatus,
    fates::{Fate, Watch},
    gate::Gate,
    monitored::Monitored,
};

/// A message on its way to the session.
#[derive(Debug)]
pub(crate) struct Publication {
    pub(crate) topic: Topic,
    pub(crate) body: Body,
    pub(crate) options: Options,
    pub(crate) watch: Watch,
    /// Where its bytes are in the durable cache.
    pub(crate) file: Option<String>,
    pub(crate) reply: SyncSender<Result<ObjectKey, GroupError>>,
}

impl Publication {
    /// True if members that lag behind are to catch up before it goes.
    pub(crate) fn waits_for_members(&self) -> bool {
        match self.watch {
            Watch::Nothing | Watch::Sending => false,
            Watch::Pace => self.options.priority <= PRIORITY_DEFAULT,
            Watch::Holders => true,
        }
    }
}

/// What an application asks of a running member.
#[derive(Debug)]
pub(crate) enum Command {
    Publish(Box<Publication>),
    /// Without a gate nobody listens.
    Subscribe(Subscription, Option<Gate>, SyncSender<SubscriptionId>),
    Unsubscribe(SubscriptionId, SyncSender<bool>),
    Cancel(u64, SyncSender<usize>),
    Fates(SyncSender<Vec<Fate>>),
    AskStandings,
    Status(SyncSender<GroupStatus>),
    Monitored(SyncSender<Option<Box<Monitored>>>),
    SetHostFacts(fanfare_messaging::monitor::Facts),
    SetCeiling(Option<Bitrate>),
    Flush(SyncSender<()>),
    /// Messages will come fast.
    Hasten,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_urgent_waits_for_no_member_unless_it_is_to_be_known_who_holds_it() {
        let waits = |watch, priority| {
            let (reply, _) = std::sync::mpsc::sync_channel(1);
            let options = Options { priority, ..Options::default() };
            let (topic, body) = (Topic::new("a").unwrap(), Body::new(Vec::new()));
            let file = None;
            Publication { topic, body, options, watch, file, reply }.waits_for_members()
        };
        let usual = PRIORITY_DEFAULT;
        assert!(waits(Watch::Pace, usual) && !waits(Watch::Pace, usual + 1));
        assert!(waits(Watch::Holders, 9) && !waits(Watch::Nothing, usual));
    }
}
