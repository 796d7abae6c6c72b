//! The thread that publishes in a group for a bridge or a gateway: a full group holds up nobody else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use fanfare_messaging::{Options, Topic};

use crate::group::{Body, GroupError, GroupHandle, Watch};

/// Messages on their way into a group at once: what waits does so where it can still be looked at.
const AHEAD: usize = 4;

/// A message for the group, and what is to be known of it when that is done.
#[derive(Debug)]
pub struct GroupParcel<T> {
    /// About what.
    pub topic: Topic,
    /// With what.
    pub options: Options,
    /// Its content.
    pub body: Body,
    /// Given back with the answer.
    pub token: T,
}

/// The thread, as its owner sees it. It ends when this is dropped.
#[derive(Debug)]
pub struct GroupWriter<T> {
    /// `None` once it is closed.
    parcels: Option<SyncSender<GroupParcel<T>>>,
    on_their_way: Arc<AtomicUsize>,
}

impl<T: Send + 'static> GroupWriter<T> {
    /// Begins; `watch` says if it waits for members. The fate of each message is told from
    /// the thread, until `told` gives false.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(
        member: GroupHandle,
        watch: Watch,
        told: impl FnMut(T, Result<(), GroupError>) -> bool + Send + 'static,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (parcels, to_publish) = sync_channel(AHEAD);
        let on_their_way = Arc::new(AtomicUsize::new(0));
        let count = on_their_way.clone();
        let thread = std::thread::Builder::new()
            .name("fanfare-writer".into())
            .spawn(move || publish_all(&member, watch, &to_publish, &count, told))?;
        Ok((Self { parcels: Some(parcels), on_their_way }, thread))
    }

    /// True if one more may be put in.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.parcels.is_some() && self.on_their_way.load(Ordering::Acquire) < AHEAD
    }

    /// A message to be published; there must be room.
    pub fn put(&self, parcel: GroupParcel<T>) {
        let Some(parcels) = &self.parcels else { return };
        self.on_their_way.fetch_add(1, Ordering::AcqRel);
        // It has room for what was counted; without its thread the member has ended.
        let _ = parcels.try_send(parcel);
    }

    /// Nothing has room any more, and the thread ends when what was put in is done.
    pub fn close(&mut self) {
        self.parcels = None;
    }
}

fn publish_all<T>(
    member: &GroupHandle,
    watch: Watch,
    parcels: &Receiver<GroupParcel<T>>,
    on_their_way: &AtomicUsize,
    mut told: impl FnMut(T, Result<(), GroupError>) -> bool,
) {
    while let Ok(GroupParcel { topic, options, body, token }) = parcels.recv() {
        let published = member.publish(topic, body, options, watch).map(|_| ());
        on_their_way.fetch_sub(1, Ordering::AcqRel);
        if !told(token, published) {
            return;
        }
    }
}
