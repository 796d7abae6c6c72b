//! A bridge between a group and plain UDP multicast: datagrams become messages, and messages
//! datagrams.
//!
//! `crossing` says what crosses; here are the sockets and threads around it. All that is heard, on
//! either side, comes to the caller's thread by one channel.

mod crossing;

use std::{
    collections::VecDeque,
    io::ErrorKind,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossing::{Crossing, CrossingContent, Side};
use fanfare_messaging::{Filter, Options, Subscription, Topic};
use fanfare_proto::Time;
use fanfare_udp::{Endpoint, EndpointConfig, Role, choose_interface};

use crate::{
    clock::Clock,
    group::{
        Body, Group, GroupError, GroupEvent, GroupEvents, GroupHandle, Losses, Message, Watch,
    },
    group_writer::{GroupParcel, GroupWriter},
    join_error::JoinError,
    queue_room::{QueueLimit, QueuePlace, QueueRoom},
    way_counts::WayCounts,
};

/// Events of the member that wait to be looked at. Messages among them hold their places in the member's gate.
const EVENTS_MAX: usize = 1024;
/// How often the thread that hears datagrams looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two questions to the member about what it could not give.
const ASK: Duration = Duration::from_millis(500);
/// Time to wait with a datagram that the system has no room for, at a time.
const SPACE: Duration = Duration::from_millis(100);

/// What a bridge is told.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// The plain group.
    pub plain: SocketAddr,
    /// Its interface, by name or address; as for a group when there is none.
    pub interface: Option<String>,
    /// Routers to pass on the plain side, plus one.
    pub ttl: u8,
    /// Datagrams are published under this topic; what is published under it or below goes out.
    pub topic: Topic,
    /// How long a datagram is of use in the group.
    pub expiry: Duration,
    /// Longest datagram that crosses, bytes.
    pub datagram_max: usize,
    /// A content crosses once in this time.
    pub window: Duration,
    /// How long to leave a content to another bridge.
    pub standby: Duration,
    /// Most that waits, each way. Datagrams beyond it are dropped; messages stay where the member keeps them.
    pub queue: QueueLimit,
}

/// Counters of both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BridgeCounts {
    /// Datagrams, on their way to the group.
    pub to_group: WayCounts,
    /// Messages, on their way to the plain side.
    pub to_plain: WayCounts,
}

impl BridgeCounts {
    /// With what the member could not give the bridge.
    #[must_use]
    pub fn with_losses(self, losses: Losses) -> Self {
        Self { to_plain: self.to_plain.with_losses(losses), ..self }
    }
}

/// News of a bridge.
#[derive(Debug)]
pub enum BridgeEvent {
    /// An event of its member of the group, other than messages.
    Group(GroupEvent),
    /// Something of so many bytes was longer than may cross, and did not.
    TooLong(u64),
    /// The system does not send a datagram of so many bytes; why.
    NotSent(usize, std::io::Error),
    /// The group does not take a message.
    NotPublished(GroupError),
}

#[derive(Debug)]
enum Heard {
    Datagram(CrossingContent),
    TooLong(u64, #[expect(dead_code, reason = "what counts is when it is dropped")] QueuePlace),
    Event(GroupEvent),
    /// A datagram was published, or was not.
    Published(QueuePlace, Result<(), GroupError>),
    /// The member has ended.
    End,
}

/// Counters of the thread that hears datagrams.
#[derive(Debug, Default)]
struct ListenerCounts {
    /// Datagrams of others.
    heard: AtomicU64,
    /// The bridge's own.
    own: AtomicU64,
    /// The system had no room for them before they could be read, of either kind.
    overruns: AtomicU64,
}

/// A bridge, running.
#[derive(Debug)]
pub struct Bridge {
    options: BridgeOptions,
    group: GroupHandle,
    clock: Clock,
    crossing: Crossing,
    outlet: Endpoint,
    /// On its way out, while the system has no room for it.
    unsent: Option<CrossingContent>,
    heard: Receiver<Heard>,
    events: Receiver<()>,
    writer: GroupWriter<QueuePlace>,
    room_to_group: QueueRoom,
    room_to_plain: QueueRoom,
    /// Messages for which there is no room: as long as they are here, the member keeps what follows.
    held: VecDeque<Box<Message>>,
    listened: Arc<ListenerCounts>,
    to_group: WayCounts,
    to_plain: WayCounts,
    losses: Losses,
    ask_at: Time,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Bridge {
    /// Opens the plain side, and subscribes.
    ///
    /// # Errors
    /// What this machine refuses: interface, sockets, threads; or the member has ended.
    pub fn open(group: &mut Group, options: BridgeOptions) -> Result<Self, JoinError> {
        let interface = choose_interface(options.plain.ip(), options.interface.as_deref())?;
        let (group_address, ttl) = (options.plain, options.ttl);
        let inner = EndpointConfig {
            group: group_address,
            interface: Some(interface),
            ttl,
            // What the system drops is counted in datagrams.
            gro: false,
            ..EndpointConfig::default()
        };
        let outlet = Endpoint::open(&EndpointConfig { role: Role::Sender, ..inner.clone() })?;
        // Datagrams of others are as long as they are, up to 65,507 bytes.
        outlet.let_fragment()?;
        let inlet = Endpoint::open(&inner)?;
        let own = outlet.local_addr()?;
        let (sender, heard) = channel();
        let clock = Clock::start();
        let (stop, listened) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let rooms = [0, 1].map(|_| QueueRoom::new(options.queue));
        let [room_to_group, room_to_plain] = rooms;
        let listener = Listener {
            inlet,
            own,
            datagram_max: options.datagram_max,
            room: room_to_group.clone(),
            sender: sender.clone(),
            clock,
            stop: stop.clone(),
            counts: Arc::clone(&listened),
        };
        let mut threads = vec![spawn("fanfare-bridge", move || listener.run())?];
        let told = sender.clone();
        let told = move |place, published| told.send(Heard::Published(place, published)).is_ok();
        // Who lags so far behind that nothing could be repaired is waited for: a burst would be lost on it.
        let (writer, thread) = GroupWriter::start(group.handle(), Watch::Pace, told)?;
        threads.push(thread);
        let (places, events) = sync_channel(EVENTS_MAX);
        if let Some(events) = group.take_events() {
            let tell = move || pass_on(&events, &places, &sender);
            threads.push(spawn("fanfare-events", tell)?);
        }
        let crossing = Crossing::new(options.window, options.standby);
        let group = group.handle();
        Ok(Self {
            options,
            group,
            ask_at: clock.now(),
            clock,
            crossing,
            outlet,
            unsent: None,
            heard,
            events,
            writer,
            room_to_group,
            room_to_plain,
            held: VecDeque::new(),
            listened,
            to_group: WayCounts::default(),
            to_plain: WayCounts::default(),
            losses: Losses::default(),
            stop,
            threads,
        })
    }

    /// Begins to hear the group: what is published from now on.
    ///
    /// # Errors
    /// The member has ended.
    pub fn subscribe(&self) -> Result<(), GroupError> {
        let filter = Filter::new(&format!("{}/#", self.options.topic));
        // A topic with a level more is too long only where the topic itself nearly is.
        let filter = filter.or_else(|_| Filter::new(self.options.topic.as_str()));
        let Ok(filter) = filter else { return Ok(()) };
        let history = fanfare_messaging::History::Last(0);
        let deadline = Some(self.options.expiry);
        let subscription = Subscription { deadline, history, ..Subscription::new(filter) };
        self.group.subscribe(subscription).map(|_| ())
    }

    /// Counters of what has crossed, without what the member could not give.
    #[must_use]
    pub fn crossed(&self) -> BridgeCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (own, overruns) = (count(&self.listened.own), count(&self.listened.overruns));
        // The bridge's own are among what the system dropped, where they come back at all.
        let own_lost = if own == 0 { 0 } else { self.to_plain.carried.saturating_sub(own) };
        let overruns = overruns.saturating_sub(own_lost);
        BridgeCounts {
            to_group: WayCounts {
                heard: count(&self.listened.heard) + overruns,
                duplicates: self.crossing.duplicates_to_group,
                dropped: self.room_to_group.dropped() + overruns,
                waiting: self.room_to_group.waiting(),
                ..self.to_group
            },
            to_plain: WayCounts {
                duplicates: self.crossing.duplicates_to_plain,
                waiting: self.room_to_plain.waiting() + self.held.len() as u64,
                ..self.to_plain
            },
        }
    }

    /// Messages that the member could not give, as of half a second ago.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Works for up to `timeout`; gives what is to be told.
    ///
    /// # Errors
    /// Time is up, or the member has ended.
    pub fn next_event(&mut self, timeout: Duration) -> Result<BridgeEvent, RecvTimeoutError> {
        let end = self.clock.now() + timeout;
        loop {
            let now = self.clock.now();
            if let Some(event) = self.carry(now) {
                return Ok(event);
            }
            if now >= self.ask_at {
                self.ask_at = now + ASK;
                // When the member has ended, that is told by the way of events.
                self.losses = self.group.status().map_or(self.losses, |status| status.losses);
            }
            if now >= end {
                return Err(RecvTimeoutError::Timeout);
            }
            let heard = match self.heard.recv_timeout(self.next_timeout(end).since(now)) {
                Ok(heard) => heard,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            };
            if let Some(event) = self.on_heard(heard)? {
                return Ok(event);
            }
        }
    }

    fn next_timeout(&self, end: Time) -> Time {
        // What is due, but has no room in the group, waits for word of it.
        let to_group = self.crossing.next_timeout(Side::Group);
        let to_group = to_group.filter(|_| self.writer.has_room());
        let to_plain = self.crossing.next_timeout(Side::Plain);
        let due = [to_group, to_plain, Some(self.ask_at)];
        due.into_iter().flatten().fold(end, |end, due| end.min(due))
    }

    fn on_heard(&mut self, heard: Heard) -> Result<Option<BridgeEvent>, RecvTimeoutError> {
        Ok(match heard {
            Heard::Datagram(what) => {
                self.crossing.on_heard(self.clock.now(), Side::Plain, what);
                None
            }
            Heard::TooLong(bytes, _) => {
                self.to_group.refused += 1;
                Some(BridgeEvent::TooLong(bytes))
            }
            Heard::Event(event) => {
                let _ = self.events.try_recv();
                match event {
                    GroupEvent::Message(message) => {
                        self.to_plain.heard += 1;
                        match self.held.is_empty() && !self.room_to_plain.is_full() {
                            true => self.on_message(&message),
                            false => {
                                self.held.push_back(message);
                                None
                            }
                        }
                    }
                    // Counted where the member counts them.
                    GroupEvent::Dropped(_) => None,
                    event => Some(BridgeEvent::Group(event)),
                }
            }
            Heard::Published(place, published) => {
                drop(place);
                match published {
                    Ok(()) => {
                        self.to_group.carried += 1;
                        None
                    }
                    Err(error) => {
                        self.to_group.refused += 1;
                        Some(BridgeEvent::NotPublished(error))
                    }
                }
            }
            Heard::End => return Err(RecvTimeoutError::Disconnected),
        })
    }

    /// A message of the group; there is room for it.
    fn on_message(&mut self, message: &Message) -> Option<BridgeEvent> {
        let bytes = message.body.len();
        if bytes > self.options.datagram_max as u64 {
            self.to_plain.refused += 1;
            return Some(BridgeEvent::TooLong(bytes));
        }
        let mut content = Vec::new();
        // Else a file of ours that cannot be read back, or more than all room there is.
        let is_read = message.body.copy_to(&mut content).is_ok();
        let heard = self.clock.now();
        match self.room_to_plain.enter(content.len()).filter(|_| is_read) {
            Some(place) => {
                let what = CrossingContent { content, place, heard };
                self.crossing.on_heard(heard, Side::Group, what);
            }
            None => self.to_plain.refused += 1,
        }
        None
    }

    /// Carries what may go now; gives what is to be told.
    fn carry(&mut self, now: Time) -> Option<BridgeEvent> {
        while self.writer.has_room()
            && let Some(CrossingContent { content, place, heard }) =
                self.crossing.poll(now, Side::Group)
        {
            let left = self.options.expiry.checked_sub(now.since(heard));
            let Some(expiry) = left.filter(|left| !left.is_zero()) else {
                self.to_group.expired += 1;
                continue;
            };
            let options = Options { expiry: Some(expiry), ..Options::default() };
            let (topic, body) = (self.options.topic.clone(), Body::new(content));
            self.writer.put(GroupParcel { topic, options, body, token: place });
        }
        loop {
            while !self.room_to_plain.is_full()
                && let Some(message) = self.held.pop_front()
            {
                if let Some(event) = self.on_message(&message) {
                    return Some(event);
                }
            }
            let next = self.unsent.take().or_else(|| self.crossing.poll(now, Side::Plain));
            match self.send(next?) {
                Ok(None) => {}
                Ok(waits) => {
                    self.unsent = waits;
                    return None;
                }
                Err(event) => return Some(event),
            }
        }
    }

    /// Sends a datagram; gives it back while the system has no room for it.
    fn send(&mut self, what: CrossingContent) -> Result<Option<CrossingContent>, BridgeEvent> {
        let size = what.content.len();
        match self.outlet.send(self.options.plain, size.max(1), None, &what.content) {
            Ok(_) => {
                self.to_plain.carried += 1;
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // What somebody answers to where it comes from is of no concern, and must not end the wait.
                let _ = self.outlet.receive(|_, _| {});
                let _ = self.outlet.wait_for_space(Some(SPACE), None);
                Ok(Some(what))
            }
            Err(error) => {
                self.to_plain.refused += 1;
                Err(BridgeEvent::NotSent(size, error))
            }
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.group.stopper().stop();
        // Whoever waits for room in a channel, or for more, is let go first.
        self.writer.close();
        drop(std::mem::replace(&mut self.heard, channel().1));
        drop(std::mem::replace(&mut self.events, sync_channel(0).1));
        for thread in self.threads.drain(..) {
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}

/// Hears datagrams of the plain side.
struct Listener {
    inlet: Endpoint,
    /// Where the bridge's own come from.
    own: SocketAddr,
    datagram_max: usize,
    room: QueueRoom,
    sender: Sender<Heard>,
    clock: Clock,
    stop: Arc<AtomicBool>,
    counts: Arc<ListenerCounts>,
}

impl Listener {
    fn run(mut self) {
        let Self { inlet, own, datagram_max, room, sender, clock, stop, counts } = &mut self;
        while !stop.load(Ordering::Relaxed) {
            counts.overruns.store(inlet.overruns(), Ordering::Relaxed);
            if !inlet.wait(Some(LOOK), None).is_ok_and(|ready| ready.readable()) {
                continue;
            }
            // An error of one datagram, such as an ICMP report, is none of the next.
            let _ = inlet.receive(|meta, datagram| {
                if meta.source == *own {
                    counts.own.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                counts.heard.fetch_add(1, Ordering::Relaxed);
                let is_long = datagram.len() > *datagram_max;
                let taken = if is_long { 0 } else { datagram.len() };
                let Some(place) = room.enter_or_drop(taken) else { return };
                // Where the bridge has ended, nobody wants it.
                let _ = sender.send(match is_long {
                    true => Heard::TooLong(datagram.len() as u64, place),
                    false => {
                        let (content, heard) = (datagram.to_vec(), clock.now());
                        Heard::Datagram(CrossingContent { content, place, heard })
                    }
                });
            });
        }
    }
}

/// Gives the member's events to who hears the datagrams, too; waits while many of them are not looked at.
fn pass_on(events: &GroupEvents, places: &SyncSender<()>, sender: &Sender<Heard>) {
    while let Ok(event) = events.recv() {
        if places.send(()).is_err() || sender.send(Heard::Event(event)).is_err() {
            return;
        }
    }
    // Nobody needs to know who has gone.
    let _ = sender.send(Heard::End);
}
