//! Listens to a group and counts what senders put into it: a sender that is killed cannot say.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use fanfare_udp::{Endpoint, EndpointConfig, interfaces};
use fanfare_wire::Message;

use super::news::News;

/// The thread ends within this time of being told to.
const POLL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Seen {
    /// Bytes of symbols.
    symbols: AtomicU64,
    overruns: AtomicU64,
    ended: AtomicBool,
    /// Messages and bytes of symbols of each kind, for who looks into a failure.
    kinds: Mutex<BTreeMap<String, (u64, u64)>>,
}

/// Counts bytes of the symbols in NORM_DATA, sources and parity, until dropped.
pub(crate) struct Observer {
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Observer {
    /// Rings whenever something is heard.
    pub(crate) fn start(group: SocketAddr, news: News) -> Result<Self, String> {
        let interfaces = interfaces().map_err(|e| e.to_string())?;
        let interface = interfaces.into_iter().find(|i| i.loopback && i.ipv4().is_some());
        let config = EndpointConfig { group, interface, ..EndpointConfig::default() };
        let endpoint = Endpoint::open(&config).map_err(|e| e.to_string())?;
        let seen = Arc::new(Seen::default());
        let told = seen.clone();
        let thread = std::thread::spawn(move || watch(endpoint, &told, &news));
        Ok(Self { seen, thread: Some(thread) })
    }

    /// Bytes of symbols sent so far.
    pub(crate) fn symbols(&self) -> u64 {
        self.seen.symbols.load(Ordering::Relaxed)
    }

    /// Datagrams that were sent and not seen.
    pub(crate) fn overruns(&self) -> u64 {
        self.seen.overruns.load(Ordering::Relaxed)
    }

    /// What was sent, by sender, instance, object and flags.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let line = |(kind, (messages, bytes)): (&String, &(u64, u64))| {
            format!("{kind}: {messages} messages, {bytes} bytes")
        };
        self.seen.kinds.lock().map(|kinds| kinds.iter().map(line).collect()).unwrap_or_default()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.seen.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(mut endpoint: Endpoint, seen: &Seen, news: &News) {
    while !seen.ended.load(Ordering::Relaxed) {
        let _ = endpoint.wait(Some(POLL), None);
        let mut kinds = BTreeMap::new();
        let received = endpoint.receive(|_, datagram| {
            let (kind, bytes) = describe(datagram);
            seen.symbols.fetch_add(bytes, Ordering::Relaxed);
            let counted: &mut (u64, u64) = kinds.entry(kind).or_default();
            *counted = (counted.0 + 1, counted.1 + bytes);
        });
        if received.is_ok() {
            news.ring();
            seen.overruns.store(endpoint.overruns(), Ordering::Relaxed);
        }
        if let Ok(mut all) = seen.kinds.lock() {
            for (kind, (messages, bytes)) in kinds {
                let counted = all.entry(kind).or_default();
                *counted = (counted.0 + messages, counted.1 + bytes);
            }
        }
    }
}

/// A message's kind, and how many bytes of a symbol it carries.
fn describe(datagram: &[u8]) -> (String, u64) {
    match Message::parse(datagram) {
        Ok(Message::Data(data)) => {
            let (sender, object) = (data.sender, data.object_transport_id.0);
            let kind = format!(
                "data {}/{} object {object} {}",
                sender.source_id.0, sender.instance_id.0, data.flags
            );
            (kind, data.payload.len() as u64)
        }
        Ok(Message::Info(info)) => {
            (format!("info {} object {}", info.sender.source_id.0, info.object_transport_id.0), 0)
        }
        Ok(Message::Cmd(_)) => ("command".to_owned(), 0),
        Ok(Message::Nack(nack)) => (format!("nack {}", nack.feedback.source_id.0), 0),
        Ok(Message::Ack(_)) => ("ack".to_owned(), 0),
        Ok(Message::Report(_)) | Err(_) => ("other".to_owned(), 0),
    }
}
