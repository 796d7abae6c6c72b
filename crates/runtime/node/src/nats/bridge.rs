//! The bridge: all that is heard, on either side, comes to the caller's thread by one channel.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{
    GroupParcel, GroupWriter, QueueLimit, QueuePlace, QueueRoom, WayCounts,
    group::{
        Body, Group, GroupError, GroupEvent, GroupEvents, GroupHandle, Losses, Message, Watch,
    },
    messaging::{Filter, History, Options, Subscription, SubscriptionId, Topic},
    proto::Time,
};

use crate::nats::{
    connection::{Connection, Orders, StreamOptions},
    crossing::{Crossing, Mark, Often, To},
    error::NatsError,
    event::{BridgeEvent, NatsCounts, Refusal},
    letter::{Letter, LetterToken, Receipt, Told},
    login::Login,
    mark::{self, Brought, System},
    outbox::{Outbox, Parcel},
    shared::Shared,
    subject::{Pattern, Subjects},
};

/// Events of the member that wait to be looked at. Messages among them hold their places in the member's gate.
const EVENTS_MAX: usize = 1024;
/// Time between two questions to the member about what it could not give.
const ASK: Duration = Duration::from_millis(500);

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
    /// Most that waits, each way. Of core NATS what comes beyond it is dropped; a stream keeps it. Of the group the
    /// oldest gives way while no server is there; else it stays where the member keeps it.
    pub queue: QueueLimit,
}

/// What is on its way.
#[derive(Debug)]
enum Item {
    Out(Parcel, #[expect(dead_code, reason = "what counts is when it is dropped")] QueuePlace),
    In(Incoming),
}

/// A message of NATS, for the group.
#[derive(Debug)]
struct Incoming {
    topic: Topic,
    body: Body,
    tag: u64,
    /// Of no use after.
    expires: Time,
    passenger: LetterToken,
}

/// A bridge, running.
#[derive(Debug)]
pub struct Bridge {
    group: GroupHandle,
    subjects: Subjects,
    filters: Vec<(Option<SubscriptionId>, Filter)>,
    site: String,
    system: System,
    expiry: Duration,
    /// Bridges share what a stream hands out: copies are no sign that one's own is carried.
    divided: bool,
    crossing: Crossing<Item>,
    heard: Receiver<Told>,
    events: Receiver<()>,
    writer: GroupWriter<LetterToken>,
    room_to_group: QueueRoom,
    room_to_nats: QueueRoom,
    /// Messages for which there is no room: as long as they are here, the member keeps what follows.
    held: VecDeque<Box<Message>>,
    /// `None` once it is to end.
    connection: Option<Connection>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    to_group: WayCounts,
    to_nats: WayCounts,
    losses: Losses,
    ask_at: Time,
}

impl Bridge {
    /// Comes into NATS, and begins to hear it.
    ///
    /// # Errors
    /// NATS cannot be had.
    pub fn open(group: &mut Group, options: BridgeOptions) -> Result<Self, NatsError> {
        let (sender, heard) = channel();
        let shared = Arc::new(Shared::new(Outbox::new(options.queue), Instant::now()));
        let divided = options.stream.is_some();
        let [room_to_group, room_to_nats] = [0, 1].map(|_| QueueRoom::new(options.queue));
        let orders = Orders {
            login: options.login,
            site: options.site.clone(),
            stream: options.stream,
            patterns: options.patterns,
            room: room_to_group.clone(),
        };
        let connection = Connection::open(orders, Arc::clone(&shared), sender.clone())?;
        let system = |error: std::io::Error| NatsError::System(error.to_string());
        let told = sender.clone();
        let told =
            move |passenger, published| told.send(Told::Published(passenger, published)).is_ok();
        // An order that members could not have any more is of no use: what they lack is waited for.
        let (writer, thread) =
            GroupWriter::start(group.handle(), Watch::Pace, told).map_err(system)?;
        let mut threads = vec![thread];
        let (places, events) = sync_channel(EVENTS_MAX);
        if let Some(events) = group.take_events() {
            let run = move || pass_on(&events, &places, &sender);
            let thread = std::thread::Builder::new().name("fanfare-events".into()).spawn(run);
            threads.push(thread.map_err(system)?);
        }
        Ok(Self {
            group: group.handle(),
            subjects: options.subjects,
            filters: options.filters.into_iter().map(|filter| (None, filter)).collect(),
            site: options.site,
            system: System::new(&options.system),
            expiry: options.expiry,
            divided,
            crossing: Crossing::new(options.window, options.standby),
            heard,
            events,
            writer,
            room_to_group,
            room_to_nats,
            held: VecDeque::new(),
            connection: Some(connection),
            ask_at: shared.now(),
            shared,
            threads,
            to_group: WayCounts::default(),
            to_nats: WayCounts::default(),
            losses: Losses::default(),
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

    /// Counters of what has crossed, without what the member could not give.
    #[must_use]
    pub fn crossed(&self) -> NatsCounts {
        let counters = &self.shared.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // All that is there of it goes from one to the next.
        let outbox = self.shared.outbox();
        let (sent, refused) = (count(&counters.sent), count(&counters.refused));
        let waiting = self.to_nats.carried - sent - refused - outbox.dropped - outbox.expired;
        NatsCounts {
            to_group: WayCounts {
                heard: count(&counters.heard),
                duplicates: self.crossing.duplicates(To::Group),
                dropped: self.room_to_group.dropped() + count(&counters.overruns),
                waiting: self.room_to_group.waiting(),
                ..self.to_group
            },
            to_nats: WayCounts {
                carried: sent,
                duplicates: self.crossing.duplicates(To::Nats),
                dropped: outbox.dropped,
                refused: self.to_nats.refused + refused,
                expired: outbox.expired,
                waiting: waiting + self.room_to_nats.waiting() + self.held.len() as u64,
                ..self.to_nats
            },
            acknowledged: count(&counters.acknowledged),
            retried: count(&counters.retried),
            reconnects: count(&counters.reconnects),
        }
    }

    /// Messages that the member could not give, as of half a second ago.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Ends; what was given to NATS until now still goes out, if that takes it. Gives what has crossed.
    #[must_use]
    pub fn close(mut self) -> NatsCounts {
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
            if let Some(refusal) = self.carry(now) {
                return Ok(BridgeEvent::Dropped(refusal));
            }
            if now >= self.ask_at {
                self.ask_at = now + ASK;
                // When the member has ended, that is told by the way of events.
                self.losses = self.group.status().map_or(self.losses, |status| status.losses);
            }
            if now >= end {
                return Err(RecvTimeoutError::Timeout);
            }
            let told = match self.heard.recv_timeout(self.next_timeout(end).since(now)) {
                Ok(told) => told,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            };
            if let Some(event) = self.on_told(told)? {
                return Ok(event);
            }
        }
    }

    fn next_timeout(&self, end: Time) -> Time {
        // What is due, but has no room in the group, waits for word of it.
        let to_group = self.crossing.next_timeout(To::Group);
        let to_group = to_group.filter(|_| self.writer.has_room());
        // What is due to NATS, but has no room there, waits for word of the connection.
        let to_nats = self.crossing.next_timeout(To::Nats).filter(|_| !self.shared.is_full());
        let due = [to_group, to_nats, Some(self.ask_at)];
        due.into_iter().flatten().fold(end, |end, due| end.min(due))
    }

    fn on_told(&mut self, told: Told) -> Result<Option<BridgeEvent>, RecvTimeoutError> {
        Ok(match told {
            Told::Group(event) => {
                let _ = self.events.try_recv();
                match event {
                    GroupEvent::Message(message) => {
                        self.on_message(message).map(BridgeEvent::Dropped)
                    }
                    // Counted where the member counts them.
                    GroupEvent::Dropped(_) => None,
                    event => Some(BridgeEvent::Group(event)),
                }
            }
            Told::GroupEnded => return Err(RecvTimeoutError::Disconnected),
            Told::Letter(letter) => self.on_letter(letter).map(BridgeEvent::Dropped),
            Told::Published(passenger, published) => {
                // What the group does not take it will not take the next time.
                self.acknowledge(passenger.receipt);
                match published {
                    Ok(()) => {
                        self.to_group.carried += 1;
                        None
                    }
                    Err(error) => {
                        self.to_group.refused += 1;
                        Some(BridgeEvent::Dropped(Refusal::Group(error)))
                    }
                }
            }
            Told::Room => None,
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

    /// True if what comes of the group has to wait where it is.
    fn is_full(&self) -> bool {
        self.room_to_nats.is_full() || self.shared.is_full()
    }

    /// A message of the group, as it comes.
    fn on_message(&mut self, message: Box<Message>) -> Option<Refusal> {
        // Of subscriptions that overlap the first one counts.
        let topic = &message.description.topic;
        let first = self.filters.iter().find(|(_, filter)| filter.matches(topic));
        if first.is_none_or(|(id, _)| *id != Some(message.subscription)) {
            return None;
        }
        self.to_nats.heard += 1;
        if self.held.is_empty() && !self.is_full() {
            return self.on_group(&message);
        }
        self.held.push_back(message);
        None
    }

    /// A message of the group; there is room for it.
    fn on_group(&mut self, message: &Message) -> Option<Refusal> {
        let (description, now) = (&message.description, self.shared.now());
        let topic = &description.topic;
        let content = mark::content(topic, &message.body.hash());
        let mark = match self.system.brought(description.options.tag, content) {
            Brought::FromHere => {
                self.crossing.count_duplicate(To::Nats);
                if !self.divided {
                    let carried = self.crossing.on_carried(now, To::Group, Mark::Content(content));
                    self.settle(carried);
                }
                return None;
            }
            Brought::FromElsewhere => Mark::Content(content),
            Brought::No => Mark::Id(mark::id(message.key, description)),
        };
        let max = self.shared.max_payload();
        if message.body.len() > max {
            self.to_nats.refused += 1;
            return Some(Refusal::TooLong(message.body.len(), max));
        }
        let mut bytes = Vec::new();
        // Else a file of ours that cannot be read back, or more than all room there is.
        let is_read = message.body.copy_to(&mut bytes).is_ok();
        let Some(place) = self.room_to_nats.enter(bytes.len()).filter(|_| is_read) else {
            self.to_nats.refused += 1;
            return None;
        };
        let parcel = Parcel {
            subject: self.subjects.of(topic),
            id: mark::id(message.key, description),
            content: bytes,
            expires: description.options.expiry.map(|expiry| now + expiry),
            refused: 0,
        };
        self.cross(now, To::Nats, mark, Often::Once, Item::Out(parcel, place));
        None
    }

    /// A message of NATS.
    fn on_letter(&mut self, letter: Letter) -> Option<Refusal> {
        let now = self.shared.now();
        let Letter { subject, content, id, site, age, receipt, place } = letter;
        if site.as_deref() == Some(&self.site) {
            self.acknowledge(receipt);
            self.crossing.count_duplicate(To::Group);
            let carried = id.and_then(|id| self.crossing.on_carried(now, To::Nats, Mark::Id(id)));
            self.settle(carried);
            return None;
        }
        let Some(topic) = self.subjects.topic(&subject) else {
            self.acknowledge(receipt);
            self.to_group.refused += 1;
            return Some(Refusal::NoTopic(subject));
        };
        let Some(expiry) = self.expiry.checked_sub(age).filter(|left| !left.is_zero()) else {
            self.acknowledge(receipt);
            self.to_group.expired += 1;
            return None;
        };
        let body = Body::new(content);
        let content = mark::content(&topic, &body.hash());
        let tag = self.system.tag(content);
        let (mark, often) = match (site, id) {
            (Some(_), Some(id)) => (Mark::Id(id), Often::Once),
            _ => (Mark::Content(content), Often::Always),
        };
        let (expires, passenger) = (now + expiry, LetterToken { receipt, place });
        let incoming = Incoming { topic, body, tag, expires, passenger };
        self.cross(now, To::Group, mark, often, Item::In(incoming));
        None
    }

    fn cross(&mut self, now: Time, to: To, mark: Mark, often: Often, item: Item) {
        if let Err(item) = self.crossing.on_heard(now, to, mark, often, item) {
            self.settle(Some(item));
        }
    }

    /// Carries what may go now; gives what is to be told.
    fn carry(&mut self, now: Time) -> Option<Refusal> {
        while self.writer.has_room()
            && let Some(item) = self.crossing.poll(now, To::Group)
        {
            let Item::In(Incoming { topic, body, tag, expires, passenger }) = item else {
                continue;
            };
            if expires <= now {
                self.acknowledge(passenger.receipt);
                self.to_group.expired += 1;
                continue;
            }
            let expiry = Some(expires.since(now));
            let options = Options { expiry, tag: Some(tag), ..Options::default() };
            self.writer.put(GroupParcel { topic, options, body, token: passenger });
        }
        loop {
            while !self.shared.is_full()
                && let Some(item) = self.crossing.poll(now, To::Nats)
            {
                let Item::Out(parcel, _) = item else { continue };
                self.to_nats.carried += 1;
                self.shared.push(parcel);
            }
            if self.held.is_empty() || self.is_full() {
                return None;
            }
            let message = self.held.pop_front()?;
            if let Some(refusal) = self.on_group(&message) {
                return Some(refusal);
            }
        }
    }

    /// Somebody else has carried this.
    fn settle(&self, item: Option<Item>) {
        if let Some(Item::In(Incoming { passenger, .. })) = item {
            self.acknowledge(passenger.receipt);
        }
    }

    fn acknowledge(&self, receipt: Option<Receipt>) {
        if let (Some(receipt), Some(connection)) = (receipt, &self.connection) {
            connection.acknowledge(receipt);
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.group.stopper().stop();
        // Whoever waits for room in a channel, or for more, is let go first.
        self.writer.close();
        drop(std::mem::replace(&mut self.heard, channel().1));
        drop(std::mem::replace(&mut self.events, sync_channel(0).1));
        self.connection = None;
        for thread in self.threads.drain(..) {
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}

/// Gives the member's events to who hears NATS, too; waits while many of them are not looked at.
fn pass_on(events: &GroupEvents, places: &SyncSender<()>, sender: &Sender<Told>) {
    while let Ok(event) = events.recv() {
        if places.send(()).is_err() || sender.send(Told::Group(event)).is_err() {
            return;
        }
    }
    // Nobody needs to know who has gone.
    let _ = sender.send(Told::GroupEnded);
}
