//! The thread that speaks to NATS: it gives what it hears to the bridge, and takes what waits for it.
//!
//! It stays while servers come and go. What a stream hands out it is told of once the group has it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Sender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::QueueRoom;
use async_nats::{Client, Event, HeaderMap, jetstream};
use futures_util::{StreamExt, future::join_all};
use tokio::{
    sync::{mpsc, watch},
    task::LocalSet,
    time::timeout,
};

use crate::nats::{
    consumer::Intake,
    error::NatsError,
    letter::{Letter, Receipt, Told},
    login::Login,
    mark::{ID, SITE},
    outbox::Parcel,
    shared::Shared,
    subject::Pattern,
};

/// Taken from the queue at once. A stream acknowledges them in one round trip.
const BATCH: usize = 64;
/// How long what is on its way may take to go out at the end, twice: the command has two seconds for all.
const GOODBYE: Duration = Duration::from_millis(300);
/// Before what a server has refused is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// A message that the stream refuses, while the server is there, is given up after so many attempts, a
/// second apart: by then JetStream has long read its files after a restart.
const REFUSALS_MAX: u32 = 30;

/// Where messages of NATS come from, and go to.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    /// The stream of JetStream.
    pub name: String,
    /// Begins the names of its consumers: bridges of one name share what there is.
    pub durable: String,
}

/// The thread, to be told from outside.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    receipts: mpsc::UnboundedSender<Receipt>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is to do.
pub(crate) struct Orders {
    pub(crate) login: Login,
    pub(crate) site: String,
    pub(crate) stream: Option<StreamOptions>,
    pub(crate) patterns: Vec<Pattern>,
    /// For what is on its way to the group.
    pub(crate) room: QueueRoom,
}

impl Connection {
    /// Begins; comes back when a server is there, unless it is to be waited for.
    pub(crate) fn open(
        orders: Orders,
        shared: Arc<Shared>,
        told: Sender<Told>,
    ) -> Result<Self, NatsError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| NatsError::System(error.to_string()))?;
        let (receipts, given) = mpsc::unbounded_channel();
        let (begun, beginning) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("fanfare-nats".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let all = LocalSet::new();
                    all.block_on(&runtime, async {
                        match Courier::connect(orders, shared, told).await {
                            Ok((courier, states)) => {
                                let _ = begun.send(Ok(()));
                                courier.run(states, given).await;
                            }
                            Err(error) => {
                                let _ = begun.send(Err(error));
                            }
                        }
                    });
                }
            })
            .map_err(|error| NatsError::System(error.to_string()))?;
        let connection = Self { shared, receipts, thread: Some(thread) };
        match beginning.recv() {
            Ok(result) => result.map(|()| connection),
            Err(_) => Err(NatsError::System("it has ended".into())),
        }
    }

    /// The group has what this belongs to.
    pub(crate) fn acknowledge(&self, receipt: Receipt) {
        // Who is not there any more hands it out again.
        let _ = self.receipts.send(receipt);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}

/// Lives in the thread.
struct Courier {
    client: Client,
    context: Option<jetstream::Context>,
    orders: Orders,
    shared: Arc<Shared>,
    told: Sender<Told>,
    /// The last trouble, so that it is told once.
    trouble: String,
}

impl Courier {
    async fn connect(
        orders: Orders,
        shared: Arc<Shared>,
        told: Sender<Told>,
    ) -> Result<(Self, watch::Receiver<bool>), NatsError> {
        let (state, states) = watch::channel(false);
        let options =
            watched(orders.login.options()?, state, Arc::clone(&shared), told.clone(), &orders);
        let servers = orders.login.servers.clone();
        let client = options
            .connect(servers.0.clone())
            .await
            .map_err(|error| NatsError::of_connect(servers.to_string(), &error))?;
        let context = orders.stream.as_ref().map(|_| jetstream::new(client.clone()));
        let courier = Self { client, context, orders, shared, told, trouble: String::new() };
        courier.listen(&states).await?;
        // Who is told that it has begun may publish at once.
        let _ = timeout(AGAIN, courier.client.flush()).await;
        Ok((courier, states))
    }

    async fn run(
        mut self,
        mut states: watch::Receiver<bool>,
        mut receipts: mpsc::UnboundedReceiver<Receipt>,
    ) {
        tokio::task::spawn_local(async move {
            while let Some(receipt) = receipts.recv().await {
                // Without it the message comes again.
                let _ = receipt.0.ack().await;
            }
        });
        let (client, shared) = (self.client.clone(), Arc::clone(&self.shared));
        {
            let mut work = std::pin::pin!(self.work(&mut states));
            tokio::select! {
                () = &mut work => {}
                () = shared.ended() => {
                    let _ = timeout(GOODBYE, &mut work).await;
                }
            }
        }
        // What was given to the client is on its way.
        let _ = timeout(GOODBYE, client.flush()).await;
    }

    /// Sends what waits while a server is there, until all is told that there was at the end.
    async fn work(&mut self, states: &mut watch::Receiver<bool>) {
        loop {
            let (there, stopping) = (*states.borrow_and_update(), self.shared.is_stopping());
            let max = u64::try_from(self.client.max_payload()).unwrap_or(u64::MAX);
            self.shared.set_max_payload(max);
            self.shared.set_there(there);
            let parcels = match there {
                true => self.shared.outbox().take(self.shared.now(), BATCH),
                false => Vec::new(),
            };
            if self.shared.has_changed() {
                let _ = self.told.send(Told::Room);
            }
            if parcels.is_empty() {
                if stopping {
                    return;
                }
                tokio::select! {
                    changed = states.changed() => if changed.is_err() {
                        return;
                    },
                    () = self.shared.more() => {}
                }
                continue;
            }
            let back = self.send(parcels).await;
            if !back.is_empty() {
                self.shared.counters.retried.fetch_add(back.len() as u64, Ordering::Relaxed);
                self.shared.outbox().put_back(back);
                let _ = timeout(AGAIN, states.changed()).await;
            }
        }
    }

    /// Subscribes, or begins to fetch.
    async fn listen(&self, states: &watch::Receiver<bool>) -> Result<(), NatsError> {
        for (number, pattern) in self.orders.patterns.iter().enumerate() {
            if let (Some(context), Some(stream)) = (&self.context, &self.orders.stream) {
                let intake = Intake {
                    context: context.clone(),
                    stream: stream.clone(),
                    patterns: self.orders.patterns.clone(),
                    number,
                    room: self.orders.room.clone(),
                    shared: Arc::clone(&self.shared),
                    told: self.told.clone(),
                    states: states.clone(),
                };
                // One that is waited for says later what it lacks.
                if !self.orders.login.keep_trying {
                    intake.check().await?;
                }
                tokio::task::spawn_local(intake.run());
                continue;
            }
            let subscribed = self.client.subscribe(pattern.as_str().to_owned()).await;
            let mut messages = subscribed.map_err(|error| NatsError::System(error.to_string()))?;
            let (told, shared) = (self.told.clone(), Arc::clone(&self.shared));
            let (room, patterns) = (self.orders.room.clone(), self.orders.patterns.clone());
            // All that has come at each turn: what the client has no room for it drops, and nobody knows how many.
            tokio::task::spawn_local(tokio::task::unconstrained(async move {
                // A server ends who does not read: what there is no room for is dropped here, and counted.
                while let Some(message) = messages.next().await {
                    if !is_for_group(&patterns, number, &message.subject) {
                        continue;
                    }
                    shared.counters.heard.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = room.enter_or_drop(message.length) else { continue };
                    let _ = told.send(Told::Letter(Letter::of(message, place)));
                }
            }));
        }
        Ok(())
    }

    /// Sends these; gives back those to be tried again.
    async fn send(&mut self, parcels: Vec<Parcel>) -> Vec<Parcel> {
        match self.context.clone() {
            Some(context) => self.store(&context, parcels).await,
            None => self.publish(parcels).await,
        }
    }

    async fn publish(&mut self, parcels: Vec<Parcel>) -> Vec<Parcel> {
        use async_nats::client::PublishErrorKind as Kind;
        let mut back = Vec::new();
        for parcel in parcels {
            let headers = self.headers(&parcel);
            let (subject, content) = (parcel.subject.clone(), parcel.content.clone().into());
            match self.client.publish_with_headers(subject, headers, content).await {
                Ok(()) => self.sent(),
                Err(error) => match error.kind() {
                    Kind::MaxPayloadExceeded => self.too_long(&parcel),
                    Kind::InvalidSubject => self.refused(parcel, &error.to_string()),
                    Kind::Send => back.push(parcel),
                },
            }
        }
        // So that they are not in a buffer when the next ones come.
        let _ = timeout(AGAIN, self.client.flush()).await;
        back
    }

    async fn store(&mut self, context: &jetstream::Context, parcels: Vec<Parcel>) -> Vec<Parcel> {
        use jetstream::context::PublishErrorKind as Kind;
        let stream = self.orders.stream.as_ref().map_or("", |stream| stream.name.as_str());
        let mut waiting = Vec::new();
        for parcel in parcels {
            let mut headers = self.headers(&parcel);
            headers.insert("Nats-Expected-Stream", stream);
            let (subject, content) = (parcel.subject.clone(), parcel.content.clone().into());
            let sent = context.publish_with_headers(subject, headers, content).await;
            waiting.push((parcel, sent));
        }
        // Together: if nobody answers, all of them wait for that once.
        let answers = join_all(waiting.into_iter().map(|(parcel, sent)| async move {
            let stored = match sent {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            (parcel, stored)
        }));
        let mut back = Vec::new();
        for (mut parcel, stored) in answers.await {
            match stored {
                Ok(_) => {
                    self.shared.counters.acknowledged.fetch_add(1, Ordering::Relaxed);
                    self.sent();
                    self.trouble.clear();
                }
                Err(error) => match error.kind() {
                    Kind::MaxPayloadExceeded => self.too_long(&parcel),
                    // Nobody answers: it is known soon enough whether somebody is there.
                    Kind::TimedOut | Kind::BrokenPipe | Kind::MaxAckPending => back.push(parcel),
                    _ if parcel.refused >= REFUSALS_MAX => {
                        self.refused(parcel, &crate::nats::error::innermost(&error));
                    }
                    _ => {
                        parcel.refused += 1;
                        self.trouble(format!(
                            "{}: {}",
                            parcel.subject,
                            crate::nats::error::innermost(&error)
                        ));
                        back.push(parcel);
                    }
                },
            }
        }
        back
    }

    fn headers(&self, parcel: &Parcel) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ID, parcel.id.as_str());
        headers.insert(SITE, self.orders.site.as_str());
        headers
    }

    fn sent(&self) {
        self.shared.counters.sent.fetch_add(1, Ordering::Relaxed);
    }

    fn too_long(&self, parcel: &Parcel) {
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        let (bytes, max) = (parcel.content.len(), self.client.max_payload());
        let _ = self.told.send(Told::TooLong { bytes, max });
    }

    fn refused(&self, parcel: Parcel, why: &str) {
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        let (subject, why) = (parcel.subject, why.to_owned());
        let _ = self.told.send(Told::Refused { subject, why });
    }

    fn trouble(&mut self, what: String) {
        if self.trouble != what {
            self.trouble.clone_from(&what);
            let _ = self.told.send(Told::Trouble(what));
        }
    }
}

/// True if a message that came by the pattern of this number is for the group: of patterns that overlap the first
/// one counts, and what NATS says to itself does not cross.
pub(crate) fn is_for_group(patterns: &[Pattern], number: usize, subject: &str) -> bool {
    let is_reserved = subject.starts_with('$') || subject.starts_with("_INBOX.");
    !is_reserved && patterns.iter().position(|one| one.matches(subject)) == Some(number)
}

/// The options, with somebody who hears of servers that come and go.
fn watched(
    options: async_nats::ConnectOptions,
    state: watch::Sender<bool>,
    shared: Arc<Shared>,
    told: Sender<Told>,
    orders: &Orders,
) -> async_nats::ConnectOptions {
    let (servers, known) = (orders.login.servers.to_string(), AtomicBool::new(false));
    options.event_callback(move |event| {
        match event {
            Event::Connected => {
                if known.swap(true, Ordering::Relaxed) {
                    shared.counters.reconnects.fetch_add(1, Ordering::Relaxed);
                }
                state.send_replace(true);
                let _ = told.send(Told::Connected(true));
            }
            Event::Disconnected => {
                state.send_replace(false);
                let _ = told.send(Told::Connected(false));
            }
            Event::SlowConsumer(_) => {
                shared.counters.heard.fetch_add(1, Ordering::Relaxed);
                shared.counters.overruns.fetch_add(1, Ordering::Relaxed);
            }
            Event::ServerError(async_nats::ServerError::Other(what)) => {
                let _ = told.send(Told::Trouble(what));
            }
            // It does not come back after this.
            Event::Closed => {
                let _ = told.send(Told::Ended(NatsError::Denied { servers: servers.clone() }));
            }
            _ => {}
        }
        std::future::ready(())
    })
}
