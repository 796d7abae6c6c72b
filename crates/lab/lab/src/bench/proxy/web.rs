//! A web server on a host that answers every request with bytes without an end.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{error::LabError, host::Host};

/// Its port.
pub(super) const PORT: u16 = 8080;
/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);
const CHUNK: usize = 64 << 10;
/// Longest head of a request that is read.
const HEAD_MAX: usize = 4096;

/// Serves until it is dropped.
pub(in crate::bench) struct Web {
    stop: Arc<AtomicBool>,
}

impl Web {
    /// On this host; its connections have this congestion control.
    pub(in crate::bench) fn start(host: &Host, control: &'static str) -> Result<Self, LabError> {
        let failed = |error| LabError::system("web server", &error);
        let listener = host.enter(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)))?;
        let listener = listener.map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let ends = stop.clone();
        thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let ends = ends.clone();
                        thread::spawn(move || answer(stream, control, &ends));
                    }
                    Err(_) => thread::sleep(LOOK),
                }
            }
        });
        Ok(Self { stop })
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A client that goes away ends it.
fn answer(mut stream: TcpStream, control: &str, ends: &AtomicBool) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    stream.set_write_timeout(Some(Duration::from_secs(5))).ok()?;
    rustix::net::sockopt::set_tcp_congestion(stream.as_fd(), control).ok()?;
    let mut head = Vec::new();
    let mut buffer = [0; 512];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < HEAD_MAX {
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            bytes => head.extend_from_slice(&buffer[..bytes]),
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").ok()?;
    let body = vec![b'x'; CHUNK];
    while !ends.load(Ordering::Relaxed) {
        match stream.write(&body) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
    Some(())
}
