//! Endless TCP flows from one host to another that share a link with the transfer.

use crate::{error::LabError, host::Host};
use socket2::SockRef;
use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

/// What most systems have. This one may have another as its default.
pub(in crate::bench) const CONGESTION_CONTROL: &str = "cubic";
const PORT: u16 = 7601;
/// Bytes handed over and taken at a time.
const PIECE: usize = 128 << 10;

/// Flows at work; ended when dropped.
#[derive(Debug, Default)]
pub(in crate::bench) struct Flows {
    ends: Vec<TcpStream>,
    received: Vec<Arc<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Flows {
    /// Starts so many, with the kernel's congestion control of this name.
    pub(in crate::bench) fn start(
        from: &Host,
        to: &Host,
        count: usize,
        control: &str,
    ) -> Result<Self, LabError> {
        let failed = |error: io::Error| LabError::system("TCP flow (its socket)", &error);
        let at = (to.address(), PORT);
        let listener = to.enter(|| TcpListener::bind(at))?.map_err(failed)?;
        let mut flows = Self::default();
        for _ in 0..count {
            let out = from.enter(|| TcpStream::connect(at))?.map_err(failed)?;
            let chosen = SockRef::from(&out).set_tcp_congestion(control.as_bytes());
            chosen.map_err(failed)?;
            let (incoming, _) = listener.accept().map_err(failed)?;
            flows.add(out, incoming).map_err(failed)?;
        }
        Ok(flows)
    }

    fn add(&mut self, mut out: TcpStream, mut incoming: TcpStream) -> io::Result<()> {
        self.ends.extend([out.try_clone()?, incoming.try_clone()?]);
        let received = Arc::<AtomicU64>::default();
        self.received.push(Arc::clone(&received));
        self.threads.push(thread::spawn(move || {
            let piece = vec![0; PIECE];
            // It ends when it is shut down.
            while out.write_all(&piece).is_ok() {}
        }));
        self.threads.push(thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(length @ 1..) = incoming.read(&mut piece) {
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
        }));
        Ok(())
    }

    /// Bytes that each has brought so far.
    pub(super) fn received(&self) -> Vec<u64> {
        self.received.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        for end in &self.ends {
            // Already closed is fine.
            let _ = end.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
