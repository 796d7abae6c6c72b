//! A bridge between a group and plain UDP multicast: datagrams become messages, and messages
//! datagrams.
//!
//! `crossing` says what crosses; here are the sockets and threads around it. All that is heard, on
//! either side, comes to the caller's thread by one channel.

mod crossing;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

pub use crossing::Crossed;
use crossing::{Crossing, Side};
use fanfare_group::{Filter, Options, Subscription, Topic};
use fanfare_udp::{Endpoint, EndpointConfig, Role, choose_interface};

use crate::{
    clock::Clock,
    group::{Body, Group, GroupError, GroupEvent, GroupEvents, GroupHandle, Watch},
    join_error::JoinError,
};

/// Datagrams and events that wait to be looked at.
const HEARD: usize = 1024;
/// How often the thread that hears datagrams looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);

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
}

/// What a bridge tells.
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
    Datagram(Vec<u8>),
    Event(GroupEvent),
    /// The member has ended.
    End,
}

/// A bridge, running.
#[derive(Debug)]
pub struct Bridge {
    options: BridgeOptions,
    group: GroupHandle,
    clock: Clock,
    crossing: Crossing,
    outlet: Endpoint,
    heard: Receiver<Heard>,
    overruns: Arc<AtomicU64>,
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
            ..EndpointConfig::default()
        };
        let outlet = Endpoint::open(&EndpointConfig { role: Role::Sender, ..inner.clone() })?;
        // Datagrams of others are as long as they are, up to 65,507 bytes.
        outlet.let_fragment()?;
        let inlet = Endpoint::open(&inner)?;
        let own = outlet.local_addr()?;
        let (sender, heard) = sync_channel(HEARD);
        let (stop, overruns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let listener = Listener {
            inlet,
            own,
            sender: sender.clone(),
            stop: stop.clone(),
            overruns: overruns.clone(),
        };
        let mut threads = vec![spawn("fanfare-bridge", move || listener.run())?];
        if let Some(events) = group.take_events() {
            threads.push(spawn("fanfare-events", move || pass_on(&events, &sender))?);
        }
        let crossing = Crossing::new(options.window, options.standby);
        let (clock, group) = (Clock::start(), group.handle());
        Ok(Self { options, group, clock, crossing, outlet, heard, overruns, stop, threads })
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
        let history = fanfare_group::History::Last(0);
        let deadline = Some(self.options.expiry);
        let subscription = Subscription { deadline, history, ..Subscription::new(filter) };
        self.group.subscribe(subscription).map(|_| ())
    }

    /// What has crossed.
    #[must_use]
    pub fn crossed(&self) -> Crossed {
        let overruns = self.overruns.load(Ordering::Relaxed);
        let crossed = self.crossing.crossed;
        Crossed { dropped: crossed.dropped + overruns, ..crossed }
    }

    /// Works for up to `timeout`; gives what is to be told.
    ///
    /// # Errors
    /// Time is up, or the member has ended.
    pub fn next_event(&mut self, timeout: Duration) -> Result<BridgeEvent, RecvTimeoutError> {
        let end = self.clock.now() + timeout;
        loop {
            let now = self.clock.now();
            if let Some((to, content)) = self.crossing.poll(now) {
                if let Some(event) = self.carry(to, content) {
                    return Ok(event);
                }
                continue;
            }
            if now >= end {
                return Err(RecvTimeoutError::Timeout);
            }
            let next = self.crossing.next_timeout().map_or(end, |due| due.min(end));
            match self.heard.recv_timeout(next.since(now)) {
                Ok(Heard::Datagram(content)) => {
                    if let Some(event) = self.on_datagram(content) {
                        return Ok(event);
                    }
                }
                Ok(Heard::Event(event)) => {
                    if let Some(event) = self.on_group(event) {
                        return Ok(event);
                    }
                }
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(RecvTimeoutError::Disconnected);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn on_datagram(&mut self, content: Vec<u8>) -> Option<BridgeEvent> {
        if content.len() > self.options.datagram_max {
            return Some(self.too_long(content.len() as u64));
        }
        self.crossing.on_heard(self.clock.now(), Side::Plain, content);
        None
    }

    fn on_group(&mut self, event: GroupEvent) -> Option<BridgeEvent> {
        let GroupEvent::Message(message) = event else { return Some(BridgeEvent::Group(event)) };
        if message.body.len() > self.options.datagram_max as u64 {
            return Some(self.too_long(message.body.len()));
        }
        let mut content = Vec::new();
        if message.body.copy_to(&mut content).is_err() {
            // A file of ours that cannot be read back.
            self.crossing.crossed.dropped += 1;
            return None;
        }
        self.crossing.on_heard(self.clock.now(), Side::Group, content);
        None
    }

    fn too_long(&mut self, bytes: u64) -> BridgeEvent {
        self.crossing.crossed.dropped += 1;
        BridgeEvent::TooLong(bytes)
    }

    fn carry(&mut self, to: Side, content: Vec<u8>) -> Option<BridgeEvent> {
        let size = content.len();
        let crossed = &mut self.crossing.crossed;
        match to {
            Side::Plain => {
                match self.outlet.send(self.options.plain, size.max(1), None, &content) {
                    Ok(_) => crossed.to_plain += 1,
                    Err(error) => {
                        crossed.dropped += 1;
                        return Some(BridgeEvent::NotSent(size, error));
                    }
                }
            }
            Side::Group => {
                let options = Options { expiry: Some(self.options.expiry), ..Options::default() };
                let topic = self.options.topic.clone();
                match self.group.publish(topic, Body::new(content), options, Watch::Nothing) {
                    Ok(_) => crossed.to_group += 1,
                    Err(error) => {
                        crossed.dropped += 1;
                        return Some(BridgeEvent::NotPublished(error));
                    }
                }
            }
        }
        None
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.group.stopper().stop();
        // Whoever waits for room in the channel is let go first.
        drop(std::mem::replace(&mut self.heard, sync_channel(0).1));
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
    sender: SyncSender<Heard>,
    stop: Arc<AtomicBool>,
    overruns: Arc<AtomicU64>,
}

impl Listener {
    fn run(mut self) {
        let Self { inlet, own, sender, stop, overruns } = &mut self;
        while !stop.load(Ordering::Relaxed) {
            if !inlet.wait(Some(LOOK), None).is_ok_and(|ready| ready.readable()) {
                continue;
            }
            // An error of one datagram, such as an ICMP report, is none of the next.
            let _ = inlet.receive(|meta, datagram| {
                if meta.source == *own {
                    return;
                }
                match sender.try_send(Heard::Datagram(datagram.to_vec())) {
                    Err(TrySendError::Full(_)) => {
                        overruns.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                }
            });
        }
    }
}

/// Gives the member's events to who hears the datagrams, too.
fn pass_on(events: &GroupEvents, sender: &SyncSender<Heard>) {
    while let Ok(event) = events.recv() {
        if sender.send(Heard::Event(event)).is_err() {
            return;
        }
    }
    // Nobody needs to know who has gone.
    let _ = sender.send(Heard::End);
}
