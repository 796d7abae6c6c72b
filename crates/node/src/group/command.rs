//! What an application asks of a running member.

use std::sync::mpsc::SyncSender;

use fanfare_group::{Options, Subscription, SubscriptionId, Topic};
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
    SetHostFacts(fanfare_monitor::Facts),
    SetCeiling(Option<Bitrate>),
    Flush(SyncSender<()>),
    /// Messages will come fast.
    Hasten,
}
