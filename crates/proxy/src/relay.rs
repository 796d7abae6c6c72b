//! Bytes between a TCP connection and the link, both ways: each direction ends by itself, and a reset
//! of one end is one of the other.

use std::{
    io::{self, ErrorKind},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::AsyncWriteExt as _,
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
};

use crate::pipe::{Read, Reader, Reset, Writer};

/// Bytes read from TCP in one go. The buffer is there only while there is something to read.
const CHUNK: usize = 64 << 10;

/// Bytes of a connection so far.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From TCP to the link.
    pub up: AtomicU64,
    /// From the link to TCP.
    pub down: AtomicU64,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Both directions came to their end.
    Closed,
    /// TCP here was reset.
    Reset,
    /// The other end was reset, or the link was lost.
    PeerReset,
}

impl How {
    /// Its stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::PeerReset => "peer_reset",
        }
    }
}

/// Moves bytes until both directions have ended or one end was reset. `first`: bytes that the client has
/// said already.
pub async fn relay(
    mut tcp: TcpStream,
    first: &[u8],
    (mut writer, mut reader): (Writer, Reader),
    traffic: &Traffic,
) -> How {
    let ended = {
        let (from, to) = tcp.split();
        let up = up(from, first, &mut writer, traffic);
        let down = down(to, &mut reader, traffic);
        tokio::pin!(up, down);
        let (mut up_done, mut down_done) = (false, false);
        loop {
            let one = tokio::select! {
                ended = &mut up, if !up_done => {
                    up_done = true;
                    ended
                }
                ended = &mut down, if !down_done => {
                    down_done = true;
                    ended
                }
            };
            match one {
                Err(how) => break how,
                Ok(()) if up_done && down_done => break How::Closed,
                Ok(()) => {}
            }
        }
    };
    if ended != How::Closed {
        writer.reset();
        reader.stop();
        // Closing it then sends RST.
        let _ = SockRef::from(&tcp).set_linger(Some(Duration::ZERO));
    }
    ended
}

async fn up(
    from: ReadHalf<'_>,
    first: &[u8],
    writer: &mut Writer,
    traffic: &Traffic,
) -> Result<(), How> {
    let peer = |_: Reset| How::PeerReset;
    if !first.is_empty() {
        traffic.up.fetch_add(first.len() as u64, Ordering::Relaxed);
        writer.write(first).await.map_err(peer)?;
    }
    loop {
        tokio::select! {
            ready = from.readable() => ready.map_err(|_| How::Reset)?,
            _ = writer.stopped() => return Err(How::PeerReset),
        }
        let mut buffer = Vec::with_capacity(CHUNK);
        match from.try_read_buf(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => {
                traffic.up.fetch_add(bytes as u64, Ordering::Relaxed);
                writer.write(&buffer).await.map_err(peer)?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return Err(How::Reset),
        }
    }
    writer.finish().map_err(peer)?;
    // What it has not taken yet may still be refused.
    if writer.stopped().await { Ok(()) } else { Err(How::PeerReset) }
}

async fn down(mut to: WriteHalf<'_>, reader: &mut Reader, traffic: &Traffic) -> Result<(), How> {
    let own = |_: io::Error| How::Reset;
    loop {
        match reader.read().await.map_err(|_| How::PeerReset)? {
            Read::Bytes(bytes) => {
                to.write_all(&bytes).await.map_err(own)?;
                traffic.down.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            Read::End => return to.shutdown().await.map_err(own),
        }
    }
}
