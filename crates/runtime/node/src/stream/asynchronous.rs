//! Both ends of a stream for programs with an async runtime: the traits of tokio, and no runtime.
//!
//! A gap is an error as with [`std::io::Read`], after which reading goes on.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use fanfare_proto::StreamFlush;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{StreamReceiver, StreamSender};

impl AsyncWrite for StreamSender {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_bytes(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.flush_now(StreamFlush::Passive))
    }

    /// Says that nothing follows. [`StreamSender::finish`] waits for the receivers, and blocks.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.close())
    }
}

impl AsyncRead for StreamReceiver {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_bytes(context, into.remaining()).map_ok(|bytes| into.put_slice(&bytes))
    }
}
