//! A TCP flow of pieces at a steady pace from one host to another, and how late each piece is there. Both
//! ends are threads of this process, and so have one clock.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure};
use fanfare_lab::{Host, Stop};
use fanfare_sim::Sorted;

const PORT: u16 = 7300;

/// Pieces, and how far apart they go.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Pace {
    /// Bytes of a piece; the first eight are its time.
    pub(in super::super) bytes: usize,
    pub(in super::super) every: Duration,
}

/// Control traffic of seed 002, 6.8: 300 bytes a second. A piece goes ten times as often as the paper's, and
/// is a tenth of it, so that a short queue is not missed.
pub(in super::super) const CONTROL: Pace = Pace { bytes: 30, every: Duration::from_millis(100) };

/// A piece that is later than that is held up, s: as the design has it. It is over when none is for so long.
const HELD_UP: f64 = 0.5;
const OVER: f64 = 2.0;

/// The flow; it ends when it is dropped.
#[derive(Debug)]
pub(in super::super) struct Flow {
    done: Stop,
    late: Arc<Mutex<Vec<(f64, f64)>>>,
}

impl Flow {
    /// From `from` to `to`; times are since `zero`.
    pub(in super::super) fn start(
        from: &Host,
        to: &Host,
        pace: Pace,
        zero: Instant,
    ) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::new(Exit::Failed, "lab.flow", format!("TCP flow: {error}"));
        let entered = |error| crate::ending::failure(&error);
        let place = SocketAddr::from((to.address(), PORT));
        let listener = to.enter(|| TcpListener::bind(place)).map_err(entered)?.map_err(failed)?;
        let sender = from.enter(|| TcpStream::connect(place)).map_err(entered)?.map_err(failed)?;
        let (receiver, _) = listener.accept().map_err(failed)?;
        sender.set_nodelay(true).map_err(failed)?;
        let done = Stop::new().map_err(entered)?;
        let late = Arc::<Mutex<Vec<(f64, f64)>>>::default();
        let (told, noted) = (done.clone(), Arc::clone(&late));
        thread::spawn(move || send(sender, pace, zero, &told));
        thread::spawn(move || receive(receiver, pace, zero, &noted));
        Ok(Self { done, late })
    }

    /// When each piece was sent, and how late it was, in seconds.
    pub(in super::super) fn late(&self) -> Vec<(f64, f64)> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.done.set();
    }
}

/// How late pieces were that were sent in that time, ms.
pub(in super::super) fn within(late: &[(f64, f64)], from: f64, to: f64) -> Sorted {
    let of = late.iter().filter(|(sent, _)| (from..to).contains(sent));
    of.map(|(_, late)| late * 1e3).collect()
}

/// So long after something happened pieces are not held up any more, for two seconds and more.
pub(in super::super) fn normal_after(late: &[(f64, f64)], happened: f64) -> f64 {
    let mut normal = happened;
    for (sent, late) in late.iter().filter(|(sent, late)| *sent >= happened && *late > HELD_UP) {
        if sent - normal > OVER {
            break;
        }
        normal = sent + late;
    }
    normal - happened
}

/// A piece has the time at which it was due: what waits before the socket counts as well.
fn send(mut stream: TcpStream, pace: Pace, zero: Instant, done: &Stop) {
    let mut due = zero.elapsed();
    loop {
        let mut piece = vec![0; pace.bytes.max(8)];
        piece[..8].copy_from_slice(&(due.as_nanos() as u64).to_be_bytes());
        if stream.write_all(&piece).is_err() {
            return;
        }
        due += pace.every;
        if done.wait(due.saturating_sub(zero.elapsed())) {
            return;
        }
    }
}

fn receive(mut stream: TcpStream, pace: Pace, zero: Instant, late: &Mutex<Vec<(f64, f64)>>) {
    let mut piece = vec![0; pace.bytes.max(8)];
    while stream.read_exact(&mut piece).is_ok() {
        let now = zero.elapsed().as_secs_f64();
        let stamp = piece.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let sent = Duration::from_nanos(stamp).as_secs_f64();
        late.lock().unwrap_or_else(PoisonError::into_inner).push((sent, now - sent));
    }
}
