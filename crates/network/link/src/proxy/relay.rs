//! Bytes between a TCP connection and the link, both ways: each direction ends by itself, and a reset
//! of one end is one of the other.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    time::timeout,
};

use crate::proxy::{
    http_forward::RequestBody,
    pipe::{Read, Reader, Reset, Writer},
};

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

/// The direction from TCP to the other end.
#[derive(Debug, Default)]
pub struct Upward<'a> {
    /// Bytes that the client has said already.
    pub(crate) first: &'a [u8],
    /// Where it ends; none: where the client ends it.
    body: Option<RequestBody>,
    /// Something came behind its end.
    is_passed: bool,
}

impl<'a> Upward<'a> {
    pub(crate) fn new(first: &'a [u8], body: Option<RequestBody>, is_passed: bool) -> Self {
        Self { first, body, is_passed }
    }

    /// True if it ends before the client ends it: then unread bytes may be left.
    pub(crate) const fn is_limited(&self) -> bool {
        self.body.is_some()
    }

    /// So many of these bytes go to the other end; with fewer than all, it is over.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = self.body.as_mut().map_or(bytes.len(), |body| body.take(bytes));
        self.is_passed |= taken < bytes.len();
        taken
    }
}

/// A client's connection that ends upward where its request does, if something comes behind that.
pub(crate) struct LimitedStream<'a, 'b> {
    pub(crate) tcp: &'a mut TcpStream,
    pub(crate) upward: &'a mut Upward<'b>,
}

impl AsyncRead for LimitedStream<'_, '_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.upward.is_passed {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut *self.tcp).poll_read(context, buffer))?;
        let taken = self.upward.take(&buffer.filled()[before..]);
        buffer.set_filled(before + taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LimitedStream<'_, '_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.tcp).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.tcp).poll_shutdown(context)
    }
}

/// A client may read its last answer for so long (RFC 1928, 6, asks for less than 10 s).
const LINGER: Duration = Duration::from_secs(1);

/// Leaves a client time to read what it was told last: closing with unread bytes would reset.
pub(crate) async fn drain(tcp: &mut TcpStream) {
    let mut rest = Vec::with_capacity(1024);
    let drained = async {
        while let Ok(1..) = tcp.read_buf(&mut rest).await {
            rest.clear();
        }
    };
    // A client that stays is closed nevertheless.
    let _ = timeout(LINGER, drained).await;
}

/// Moves bytes until both directions have ended or one end was reset.
pub async fn relay(
    mut tcp: TcpStream,
    upward: Upward<'_>,
    (mut writer, mut reader): (Writer, Reader),
    traffic: &Traffic,
) -> How {
    let is_limited = upward.is_limited();
    let ended = {
        let (from, to) = tcp.split();
        let up = up(from, upward, &mut writer, traffic);
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
    if ended == How::Closed && is_limited {
        drain(&mut tcp).await;
    }
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
    mut upward: Upward<'_>,
    writer: &mut Writer,
    traffic: &Traffic,
) -> Result<(), How> {
    let peer = |_: Reset| How::PeerReset;
    if !upward.first.is_empty() {
        traffic.up.fetch_add(upward.first.len() as u64, Ordering::Relaxed);
        writer.write(upward.first).await.map_err(peer)?;
    }
    while !upward.is_passed {
        tokio::select! {
            ready = from.readable() => ready.map_err(|_| How::Reset)?,
            _ = writer.stopped() => return Err(How::PeerReset),
        }
        let mut buffer = Vec::with_capacity(CHUNK);
        match from.try_read_buf(&mut buffer) {
            Ok(0) => break,
            Ok(_) => {
                let bytes = upward.take(&buffer);
                traffic.up.fetch_add(bytes as u64, Ordering::Relaxed);
                writer.write(&buffer[..bytes]).await.map_err(peer)?;
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_limited_connection_ends_where_its_request_does_if_more_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for (body, pieces, expected) in [
            (Some(0), &["GET"][..], ""),
            (Some(4), &["pingGET", "more"], "ping"),
            (Some(4), &["pi", "ng", "GET"], "ping"),
            (Some(9), &["pi", "ng"], "ping"),
            (None, &["pi", "ng", "GET"], "pingGET"),
        ] {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut upward = Upward::new(b"", body.map(RequestBody::whole), false);
            let mut limited = LimitedStream { tcp: &mut tcp, upward: &mut upward };
            for piece in pieces {
                client.write_all(piece.as_bytes()).await.unwrap();
            }
            // Where the request has been passed the end comes without the client's.
            let stays =
                (body == Some(0) || expected.len() as u64 == body.unwrap_or(0)).then_some(client);
            let mut heard = String::new();
            limited.read_to_string(&mut heard).await.unwrap();
            assert_eq!(heard, expected, "{body:?} {pieces:?}");
            limited.write_all(b"answer").await.unwrap();
            drop(stays);
        }
    }
}
