//! Control traffic beside video, as seed 002 has it: 300 bytes a second by TCP from one side of the
//! link to the other, and how late each piece is there. Both ends are threads of this process, and so
//! have one clock.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure};
use fanfare_lab::Host;

/// A piece, and how often one goes: ten times as often as the paper's second, a tenth of it each, so that a
/// short queue is not missed.
const PIECE: usize = 30;
const EVERY: Duration = Duration::from_millis(100);
const PORT: u16 = 7300;

/// The flow; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Control {
    done: Arc<AtomicBool>,
    late: Arc<Mutex<Vec<(f64, f64)>>>,
}

impl Control {
    /// From `from` to `to`; times are since `zero`.
    pub(super) fn start(from: &Host, to: &Host, zero: Instant) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::new(Exit::Failed, "lab.control", format!("control traffic: {error}"))
        };
        let entered = |error| crate::ending::failure(&error);
        let place = SocketAddr::from((to.address(), PORT));
        let listener = to.enter(|| TcpListener::bind(place)).map_err(entered)?.map_err(failed)?;
        let sender = from.enter(|| TcpStream::connect(place)).map_err(entered)?.map_err(failed)?;
        let (receiver, _) = listener.accept().map_err(failed)?;
        sender.set_nodelay(true).map_err(failed)?;
        let done = Arc::new(AtomicBool::new(false));
        let late = Arc::<Mutex<Vec<(f64, f64)>>>::default();
        let (told, noted) = (Arc::clone(&done), Arc::clone(&late));
        thread::spawn(move || send(sender, zero, &told));
        thread::spawn(move || receive(receiver, zero, &noted));
        Ok(Self { done, late })
    }

    /// When each piece was sent, and how late it was, in seconds.
    pub(super) fn late(&self) -> Vec<(f64, f64)> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Its threads end with the next piece.
        self.done.store(true, Ordering::Relaxed);
    }
}

/// A piece has the time at which it was due: what waits before the socket counts as well.
fn send(mut stream: TcpStream, zero: Instant, done: &AtomicBool) {
    let mut due = zero.elapsed();
    while !done.load(Ordering::Relaxed) {
        let mut piece = [0; PIECE];
        piece[..8].copy_from_slice(&(due.as_nanos() as u64).to_be_bytes());
        if stream.write_all(&piece).is_err() {
            return;
        }
        due += EVERY;
        thread::sleep(due.saturating_sub(zero.elapsed()));
    }
}

fn receive(mut stream: TcpStream, zero: Instant, late: &Mutex<Vec<(f64, f64)>>) {
    let mut piece = [0; PIECE];
    while stream.read_exact(&mut piece).is_ok() {
        let now = zero.elapsed().as_secs_f64();
        let stamp = piece.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let sent = Duration::from_nanos(stamp).as_secs_f64();
        late.lock().unwrap_or_else(PoisonError::into_inner).push((sent, now - sent));
    }
}
