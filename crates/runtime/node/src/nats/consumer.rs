//! Fetching from a stream: what comes is given to the bridge as fast as that takes it.

use std::{
    sync::{Arc, atomic::Ordering, mpsc::Sender},
    time::Duration,
};

use crate::{QueuePlace, QueueRoom};
use async_nats::jetstream::{
    self, ErrorCode,
    consumer::{Consumer, DeliverPolicy, pull},
    context::GetStreamErrorKind,
    stream::{ConsumerError, Stream},
};
use futures_util::StreamExt;
use tokio::{sync::watch, time::sleep};

use crate::nats::{
    connection::{StreamOptions, is_for_group},
    error::{NatsError, innermost},
    letter::{Letter, Receipt, Told, age},
    shared::Shared,
    subject::Pattern,
};

/// Before a server is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Before a bridge that is busy is offered a message again.
const BUSY: Duration = Duration::from_millis(20);
/// Handed out and not yet in the group: so many come again when this program ends at once.
const PENDING_MAX: i64 = 256;
/// After so long a message that the group has not taken is handed out again; a bridge publishes at its
/// group's rate, and may have all the others before it.
const ACK_WAIT: Duration = Duration::from_secs(120);
/// A server that says nothing for twice as long has forgotten that somebody waits.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// What is fetched for one pattern.
pub(crate) struct Intake {
    pub(crate) context: jetstream::Context,
    pub(crate) stream: StreamOptions,
    pub(crate) patterns: Vec<Pattern>,
    /// The one of them that is fetched.
    pub(crate) number: usize,
    pub(crate) room: QueueRoom,
    pub(crate) shared: Arc<Shared>,
    pub(crate) told: Sender<Told>,
    pub(crate) states: watch::Receiver<bool>,
}

impl Intake {
    /// Whether the stream is there, and hands out what is wanted.
    pub(crate) async fn check(&self) -> Result<(), NatsError> {
        let name = || self.stream.name.clone();
        let stream = match self.context.get_stream(&self.stream.name).await {
            Ok(stream) => stream,
            Err(error) => {
                return Err(match error.kind() {
                    GetStreamErrorKind::JetStream(why)
                        if why.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        NatsError::NoStream(name())
                    }
                    GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => {
                        NatsError::NoStream(name())
                    }
                    _ => NatsError::NoJetStream(innermost(&error)),
                });
            }
        };
        match self.consumer(&stream).await {
            Ok(_) => Ok(()),
            Err(error) => Err(NatsError::Consumer { stream: name(), why: innermost(&error) }),
        }
    }

    fn pattern(&self) -> &Pattern {
        &self.patterns[self.number]
    }

    /// The bridges' consumer, made if it is not there.
    async fn consumer(&self, stream: &Stream) -> Result<Consumer<pull::Config>, ConsumerError> {
        // One filter each: servers before 2.10 know no lists of them.
        let hash = blake3::hash(self.pattern().as_str().as_bytes());
        let name = format!("{}-{}", self.stream.durable, &hash.to_hex()[..8]);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: self.pattern().as_str().to_owned(),
            deliver_policy: DeliverPolicy::New,
            ack_wait: ACK_WAIT,
            max_ack_pending: PENDING_MAX,
            ..pull::Config::default()
        };
        stream.get_or_create_consumer(&name, config).await
    }

    /// Fetches for as long as the bridge is there.
    pub(crate) async fn run(mut self) {
        let mut said = String::new();
        loop {
            while !*self.states.borrow_and_update() {
                if self.states.changed().await.is_err() {
                    return;
                }
            }
            match self.fetch().await {
                Ok(()) => said.clear(),
                // It is gone: that is told already.
                Err(_) if !*self.states.borrow() => {}
                Err(why) if why != said => {
                    let _ = self.told.send(Told::Trouble(why.clone()));
                    said = why;
                }
                Err(_) => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Fetches until the server goes, or says no.
    async fn fetch(&mut self) -> Result<(), String> {
        let stream_name = self.stream.name.clone();
        let why = |error: &(dyn std::error::Error + 'static)| {
            format!("stream {stream_name}: {}", innermost(error))
        };
        let stream = self.context.get_stream(&self.stream.name).await.map_err(|e| why(&e))?;
        let consumer = self.consumer(&stream).await.map_err(|e| why(&e))?;
        let messages = consumer.stream().heartbeat(HEARTBEAT).messages().await;
        let mut messages = messages.map_err(|e| why(&e))?;
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                _ = self.states.changed() => return Ok(()),
            };
            match message {
                Some(Ok(message)) => {
                    let published =
                        message.info().map(|info| info.published.unix_timestamp_nanos());
                    let (message, receipt) = message.split();
                    if !is_for_group(&self.patterns, self.number, &message.subject) {
                        // Without it the message comes again.
                        let _ = receipt.ack().await;
                        continue;
                    }
                    let Some(place) = self.place(message.length).await else { return Ok(()) };
                    self.shared.counters.heard.fetch_add(1, Ordering::Relaxed);
                    let mut letter = Letter::of(message, place);
                    letter.age = published.map(age).unwrap_or_default();
                    letter.receipt = Some(Receipt(Box::new(receipt)));
                    if self.told.send(Told::Letter(letter)).is_err() {
                        return Ok(());
                    }
                }
                Some(Err(error)) => return Err(why(&error)),
                None => return Ok(()),
            }
        }
    }

    /// Waits until the bridge has room; `None` when it ends.
    async fn place(&self, content: usize) -> Option<QueuePlace> {
        loop {
            if let Some(place) = self.room.enter(content) {
                return Some(place);
            }
            if self.shared.is_stopping() {
                return None;
            }
            sleep(BUSY).await;
        }
    }
}
