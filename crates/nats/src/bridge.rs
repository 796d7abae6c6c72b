//! The bridge: all that is heard, on either side, comes to the caller's thread by one channel.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fanfare_node::{
    group::{Body, Group, GroupError, GroupEvent, GroupEvents, GroupHandle, Message, Watch},
    messaging::{Filter, History, Options, Subscription, SubscriptionId, Topic},
    proto::Time,
};

use crate::{
    connection::{Connection, Orders, StreamOptions},
    crossing::{Crossing, Kept, Mark, Often, To},
    error::NatsError,
    event::{BridgeEvent, Crossed, Refusal},
    letter::{Letter, Receipt, Told},
    login::Login,
    mark::{self, Brought, System},
    outbox::{Outbox, Parcel},
    shared::Shared,
    subject::{Pattern, Subjects},
};

/// Messages and events that wait to be looked at.
const HEARD: usize = 1024;

/// What a bridge is told.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// How to come into NATS.
    pub login: Login,
    /// How topics become subjects.
    pub subjects: Subjects,
    /// What goes to NATS.
    pub filters: Vec<Filter>,
    /// What comes from there.
    pub patterns: Vec<Pattern>,
    /// The group's name in NATS: what bears it does not come back.
    pub site: String,
    /// The name of this NATS in the group: what bears it does not go back.
    pub system: String,
    /// The stream, if it is to be one.
    pub stream: Option<StreamOptions>,
    /// How long what comes from NATS is of use in the group.
    pub expiry: Duration,
    /// How long a message is known again.
    pub window: Duration,
    /// How long to leave a message to another bridge.
    pub standby: Duration,
    /// Messages that wait for NATS, and their bytes.
    pub queue: (usize, usize),
}

/// What is on its way.
#[derive(Debug)]
enum Item {
    Out(Parcel),
    In { topic: Topic, body: Body, tag: u64, expiry: Duration, receipt: Option<Receipt> },
}

/// A bridge, running.
#[derive(Debug)]
pub struct Bridge {
    group: GroupHandle,
    subjects: Subjects,
    filters: Vec<(Option<SubscriptionId>, Filter)>,
    patterns: Vec<Pattern>,
    site: String,
    system: System,
    expiry: Duration,
    /// Bridges share what a stream hands out: copies are no sign that one's own is carried.
    divided: bool,
    crossing: Crossing<Item>,
    heard: Receiver<Told>,
    /// `None` once it is to end.
    connection: Option<Connection>,
    shared: Arc<Shared>,
    events: Option<JoinHandle<()>>,
    to_group: u64,
    dropped: u64,
    expired: u64,
}

impl Bridge {
    /// Comes into NATS, and begins to hear it.
    ///
    /// # Errors
    /// NATS cannot be had.
    pub fn open(group: &mut Group, options: BridgeOptions) -> Result<Self, NatsError> {
        let (sender, heard) = sync_channel(HEARD);
        let outbox = Outbox::new(options.queue.0, options.queue.1);
        let shared = Arc::new(Shared::new(outbox, Instant::now()));
        let divided = options.stream.is_some();
        let orders = Orders {
            login: options.login,
            site: options.site.clone(),
            stream: options.stream,
            patterns: options.patterns.clone(),
        };
        let connection = Connection::open(orders, Arc::clone(&shared), sender.clone())?;
        let events = group.take_events().map(|events| {
            let run = move || pass_on(&events, &sender);
            std::thread::Builder::new().name("fanfare-events".into()).spawn(run)
        });
        let events = events.transpose().map_err(|error| NatsError::System(error.to_string()))?;
        Ok(Self {
            group: group.handle(),
            subjects: options.subjects,
            filters: options.filters.into_iter().map(|filter| (None, filter)).collect(),
            patterns: options.patterns,
            site: options.site,
            system: System::new(&options.system),
            expiry: options.expiry,
            divided,
            crossing: Crossing::new(options.window, options.standby),
            heard,
            connection: Some(connection),
            shared,
            events,
            to_group: 0,
            dropped: 0,
            expired: 0,
        })
    }

    /// Begins to hear the group: what is published from now on.
    ///
    /// # Errors
    /// The member has ended.
    pub fn subscribe(&mut self) -> Result<(), GroupError> {
        for (id, filter) in &mut self.filters {
            let history = History::Last(0);
            let wanted = Subscription { history, ..Subscription::new(filter.clone()) };
            *id = Some(self.group.subscribe(wanted)?);
        }
        Ok(())
    }

    /// What has crossed.
    #[must_use]
    pub fn crossed(&self) -> Crossed {
        let counters = &self.shared.counters;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let outbox = self.shared.outbox();
        let lost = count(&counters.overruns) + count(&counters.refused) + outbox.dropped;
        Crossed {
            to_group: self.to_group,
            to_nats: count(&counters.sent),
            acknowledged: count(&counters.acknowledged),
            retried: count(&counters.retried),
            duplicates: self.crossing.duplicates,
            dropped: self.dropped + lost,
            expired: self.expired + outbox.expired,
            waiting: outbox.len() as u64,
            reconnects: count(&counters.reconnects),
        }
    }

    /// Ends; what was given to NATS until now still goes out, if that takes it. Gives what has crossed.
    #[must_use]
    pub fn close(mut self) -> Crossed {
        self.connection = None;
        self.crossed()
    }

    /// Works for up to `timeout`; gives what is to be told.
    ///
    /// # Errors
    /// Time is up, or the member has ended.
    pub fn next_event(&mut self, timeout: Duration) -> Result<BridgeEvent, RecvTimeoutError> {
        let end = self.shared.now() + timeout;
        loop {
            let now = self.shared.now();
            if let Some((_, item)) = self.crossing.poll(now) {
                if let Some(refusal) = self.carry(item) {
                    return Ok(BridgeEvent::Dropped(refusal));
                }
                continue;
            }
            if now >= end {
                return Err(RecvTimeoutError::Timeout);
            }
            let next = self.crossing.next_timeout().map_or(end, |due| due.min(end));
            let told = match self.heard.recv_timeout(next.since(now)) {
                Ok(told) => told,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            };
            if let Some(event) = self.on_told(told)? {
                return Ok(event);
            }
        }
    }

    fn on_told(&mut self, told: Told) -> Result<Option<BridgeEvent>, RecvTimeoutError> {
        Ok(match told {
            Told::Group(GroupEvent::Message(message)) => {
                self.on_group(&message).map(BridgeEvent::Dropped)
            }
            Told::Group(event) => Some(BridgeEvent::Group(event)),
            Told::GroupEnded => return Err(RecvTimeoutError::Disconnected),
            Told::Letter(letter) => self.on_letter(letter).map(BridgeEvent::Dropped),
            Told::Connected(there) => Some(BridgeEvent::Connected(there)),
            // Counted by who says so.
            Told::Refused { subject, why } => {
                Some(BridgeEvent::Dropped(Refusal::Nats(subject, why)))
            }
            Told::TooLong { bytes, max } => {
                Some(BridgeEvent::Dropped(Refusal::TooLong(bytes as u64, max as u64)))
            }
            Told::Trouble(what) => Some(BridgeEvent::Trouble(what)),
            Told::Ended(error) => Some(BridgeEvent::Ended(error)),
        })
    }

    /// A message of the group.
    fn on_group(&mut self, message: &Message) -> Option<Refusal> {
        let (description, now) = (&message.description, self.shared.now());
        let topic = &description.topic;
        // Of subscriptions that overlap the first one counts.
        let first = self.filters.iter().find(|(_, filter)| filter.matches(topic));
        if first.is_none_or(|(id, _)| *id != Some(message.subscription)) {
            return None;
        }
        let content = mark::content(topic, &message.body.hash());
        let mark = match self.system.brought(description.options.tag, content) {
            Brought::FromHere => {
                if !self.divided {
                    let carried = self.crossing.on_carried(now, To::Group, Mark::Content(content));
                    self.settle(carried);
                } else {
                    self.crossing.duplicates += 1;
                }
                return None;
            }
            Brought::FromElsewhere => Mark::Content(content),
            Brought::No => Mark::Id(mark::id(message.key, description)),
        };
        let max = self.shared.max_payload();
        if message.body.len() > max {
            return self.refuse(Refusal::TooLong(message.body.len(), max));
        }
        let mut bytes = Vec::new();
        if message.body.copy_to(&mut bytes).is_err() {
            // A file of ours that cannot be read back.
            self.dropped += 1;
            return None;
        }
        let parcel = Parcel {
            subject: self.subjects.of(topic),
            id: mark::id(message.key, description),
            content: bytes,
            expires: description.options.expiry.map(|expiry| now + expiry),
            refused: 0,
        };
        self.cross(now, To::Nats, mark, Often::Once, Item::Out(parcel))
    }

    /// A message of NATS.
    fn on_letter(&mut self, letter: Letter) -> Option<Refusal> {
        let now = self.shared.now();
        let Letter { subject, content, id, site, pattern, age, receipt } = letter;
        let first = self.patterns.iter().position(|one| one.matches(&subject));
        let reserved = subject.starts_with('$') || subject.starts_with("_INBOX.");
        if first != Some(pattern) || reserved {
            self.acknowledge(receipt);
            return None;
        }
        if site.as_deref() == Some(&self.site) {
            self.acknowledge(receipt);
            let carried = id.and_then(|id| self.crossing.on_carried(now, To::Nats, Mark::Id(id)));
            self.settle(carried);
            return None;
        }
        let Some(topic) = self.subjects.topic(&subject) else {
            self.acknowledge(receipt);
            return self.refuse(Refusal::NoTopic(subject));
        };
        let Some(expiry) = self.expiry.checked_sub(age).filter(|left| !left.is_zero()) else {
            self.acknowledge(receipt);
            self.expired += 1;
            return None;
        };
        let body = Body::new(content);
        let content = mark::content(&topic, &body.hash());
        let tag = self.system.tag(content);
        let (mark, often) = match (site, id) {
            (Some(_), Some(id)) => (Mark::Id(id), Often::Once),
            _ => (Mark::Content(content), Often::Always),
        };
        self.cross(now, To::Group, mark, often, Item::In { topic, body, tag, expiry, receipt })
    }

    fn cross(
        &mut self,
        now: Time,
        to: To,
        mark: Mark,
        often: Often,
        item: Item,
    ) -> Option<Refusal> {
        match self.crossing.on_heard(now, to, mark, often, item) {
            Ok(()) => {}
            Err(Kept::Duplicate(item)) => self.settle(Some(item)),
            // A stream hands it out again.
            Err(Kept::NoRoom(_)) => self.dropped += 1,
        }
        None
    }

    fn carry(&mut self, item: Item) -> Option<Refusal> {
        match item {
            Item::Out(parcel) => {
                self.shared.push(parcel);
                None
            }
            Item::In { topic, body, tag, expiry, receipt } => {
                let options =
                    Options { expiry: Some(expiry), tag: Some(tag), ..Options::default() };
                let published = self.group.publish(topic, body, options, Watch::Nothing);
                // What the group does not take it will not take the next time.
                self.acknowledge(receipt);
                match published {
                    Ok(_) => self.to_group += 1,
                    Err(error) => return self.refuse(Refusal::Group(error)),
                }
                None
            }
        }
    }

    /// Somebody else has carried this.
    fn settle(&self, item: Option<Item>) {
        if let Some(Item::In { receipt, .. }) = item {
            self.acknowledge(receipt);
        }
    }

    fn acknowledge(&self, receipt: Option<Receipt>) {
        if let (Some(receipt), Some(connection)) = (receipt, &self.connection) {
            connection.acknowledge(receipt);
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Option<Refusal> {
        self.dropped += 1;
        Some(refusal)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.group.stopper().stop();
        // Whoever waits for room in the channel is let go first.
        drop(std::mem::replace(&mut self.heard, sync_channel(0).1));
        self.connection = None;
        if let Some(events) = self.events.take() {
            // A panic in the thread has said so already.
            let _ = events.join();
        }
    }
}

/// Gives the member's events to who hears NATS, too.
fn pass_on(events: &GroupEvents, sender: &SyncSender<Told>) {
    while let Ok(event) = events.recv() {
        if sender.send(Told::Group(event)).is_err() {
            return;
        }
    }
    // Nobody needs to know who has gone.
    let _ = sender.send(Told::GroupEnded);
}
