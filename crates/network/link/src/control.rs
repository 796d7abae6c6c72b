//! The stream by which the ends of a connection ask each other whether they are there.
//!
//! ```text
//! 1, question (8)   please answer
//! 2, question (8)   the answer
//! ```

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quinn::{RecvStream, SendStream};
use tokio::{
    sync::{Mutex, Notify},
    time::timeout,
};

const QUESTION: u8 = 1;
const ANSWER: u8 = 2;
const BYTES: usize = 9;
/// QUIC repeats what is lost; a path that takes longer is asked again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    send: Arc<Mutex<SendStream>>,
    asked: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
    news: Arc<Notify>,
}

impl Probe {
    pub(crate) fn new(send: SendStream, news: Arc<Notify>) -> Self {
        let send = Arc::new(Mutex::new(send));
        Self { send, asked: Arc::default(), answered: Arc::default(), news }
    }

    /// Asks, and does not wait.
    pub(crate) async fn send(&self) {
        let question = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.say(QUESTION, question).await;
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn answers(&self) -> bool {
        let question = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.say(QUESTION, question).await;
        let answered = async {
            loop {
                let news = self.news.notified();
                if self.answered.load(Ordering::Relaxed) >= question {
                    return;
                }
                news.await;
            }
        };
        timeout(PATIENCE, answered).await.is_ok()
    }

    async fn say(&self, kind: u8, number: u64) {
        let mut bytes = [kind; BYTES];
        bytes[1..].copy_from_slice(&number.to_be_bytes());
        // A connection that is gone is told elsewhere.
        let _ = self.send.lock().await.write_all(&bytes).await;
    }
}

/// Answers until the connection is closed.
pub(crate) async fn answer(mut recv: RecvStream, probe: Probe) {
    let mut bytes = [0; BYTES];
    while recv.read_exact(&mut bytes).await.is_ok() {
        let number = bytes[1..].try_into().map_or(0, u64::from_be_bytes);
        match bytes[0] {
            QUESTION => probe.say(ANSWER, number).await,
            ANSWER => {
                probe.answered.fetch_max(number, Ordering::Relaxed);
                probe.news.notify_waiters();
            }
            _ => return,
        }
    }
}

/// The address that packets to `peer` would leave from. No packet is sent.
pub(crate) fn own_address(peer: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
