//! A road between a sender and one host: datagrams pass through this process, which may do to them what
//! bad relays and home routers do.

use std::{
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

/// How long a datagram is waited for before looking whether it is over.
const LOOK: Duration = Duration::from_millis(5);
/// Longer than a control message: it has data in it.
const DATA_MIN: usize = 500;

/// What becomes of the datagrams of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Every so many, the last byte is changed.
    Alters(usize),
    /// Every so many, one is lost.
    Drops(usize),
    /// Each comes so many times.
    Floods(usize),
    /// After so many, the host is spoken to from another port, and the old one is closed.
    ChangesPort(usize),
}

/// The road; it ends when dropped.
pub(crate) struct Road {
    pub(crate) address: SocketAddr,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Road {
    /// The address that the host is spoken to from. A receiver that listens to no other is reached by
    /// the road alone.
    pub(crate) const BACK: &str = "127.0.0.6";

    /// To this host.
    pub(crate) fn to(host: SocketAddr, habit: Habit) -> Self {
        let socket = |own: &str| {
            let socket = UdpSocket::bind((own, 0)).unwrap();
            socket.set_read_timeout(Some(LOOK)).unwrap();
            socket
        };
        let (front, mut back) = (socket("127.0.0.1"), socket(Self::BACK));
        let address = front.local_addr().unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let run = move || {
            let (mut buffer, mut sender, mut data) = ([0; 65_536], None, 0);
            while !ended.load(Ordering::Relaxed) {
                while let Ok((length, from)) = front.recv_from(&mut buffer) {
                    sender = Some(from);
                    let bytes = &mut buffer[..length];
                    data += usize::from(length >= DATA_MIN);
                    let each = |every| length >= DATA_MIN && data % every == 0;
                    let copies = match habit {
                        Habit::Drops(every) if each(every) => 0,
                        Habit::Floods(times) if length >= DATA_MIN => times,
                        _ => 1,
                    };
                    if matches!(habit, Habit::Alters(every) if each(every)) {
                        bytes[length - 1] ^= 0xff;
                    }
                    if matches!(habit, Habit::ChangesPort(after) if length >= DATA_MIN && data == after)
                    {
                        back = socket(Self::BACK);
                    }
                    for _ in 0..copies {
                        let _ = back.send_to(bytes, host);
                    }
                    answer(&back, &front, sender);
                }
                answer(&back, &front, sender);
            }
        };
        Self { address, end, thread: Some(std::thread::spawn(run)) }
    }
}

/// What has come back goes on to the sender.
fn answer(back: &UdpSocket, front: &UdpSocket, sender: Option<SocketAddr>) {
    let mut buffer = [0; 65_536];
    back.set_nonblocking(true).unwrap();
    while let Ok((length, _)) = back.recv_from(&mut buffer) {
        if let Some(sender) = sender {
            let _ = front.send_to(&buffer[..length], sender);
        }
    }
    back.set_nonblocking(false).unwrap();
}

impl Drop for Road {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
