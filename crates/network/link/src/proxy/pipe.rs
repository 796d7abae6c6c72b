//! One connection over the link: bytes, ends and resets, whatever carries them.

use crate::quinn::{RecvStream, SendStream, VarInt};

pub use crate::proxy::ends::{Read, Reset};
use crate::proxy::{frame::FRAME_MAX, norm::Handle, norp};

/// The other end's TCP connection was reset, or cannot be written to any more.
const RESET: VarInt = VarInt::from_u32(1);
/// Bytes taken from a stream in one go.
const CHUNK: usize = 64 << 10;

/// The direction to the other end.
#[derive(Debug)]
pub enum Writer {
    /// A stream of QUIC.
    Quic(SendStream),
    /// Spans of NORM.
    Norm(Handle),
    /// A stream of NORM, to NRL's norp.
    Norp(norp::ends::Writer),
}

/// The direction from the other end.
#[derive(Debug)]
pub enum Reader {
    /// A stream of QUIC.
    Quic(RecvStream),
    /// Spans of NORM.
    Norm(Handle),
    /// A stream of NORM, from NRL's norp.
    Norp(norp::ends::Reader),
}

impl Writer {
    /// Writes all of it, as fast as the other end takes it.
    ///
    /// # Errors
    /// When the connection was reset.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Reset> {
        match self {
            Self::Quic(stream) => stream.write_all(bytes).await.map_err(|_| Reset),
            Self::Norm(handle) => handle.write(bytes).await,
            Self::Norp(writer) => writer.write(bytes).await,
        }
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// When the connection was reset.
    pub fn finish(&mut self) -> Result<(), Reset> {
        match self {
            Self::Quic(stream) => stream.finish().map_err(|_| Reset),
            Self::Norm(handle) => handle.finish(),
            Self::Norp(writer) => writer.finish(),
        }
    }

    /// Tells the other end that the connection was reset.
    pub fn reset(&mut self) {
        match self {
            // It may be over already.
            Self::Quic(stream) => drop(stream.reset(RESET)),
            Self::Norm(handle) => handle.reset(),
            Self::Norp(writer) => writer.reset(),
        }
    }

    /// Waits until the other end takes no more: true when it has taken all.
    pub async fn stopped(&self) -> bool {
        match self {
            Self::Quic(stream) => matches!(stream.stopped().await, Ok(None)),
            Self::Norm(handle) => handle.stopped().await,
            Self::Norp(writer) => writer.stopped().await,
        }
    }
}

impl Reader {
    /// The next bytes.
    ///
    /// # Errors
    /// When the connection was reset.
    pub async fn read(&mut self) -> Result<Read, Reset> {
        match self {
            Self::Quic(stream) => match stream.read_chunk(CHUNK, true).await {
                Ok(Some(chunk)) => Ok(Read::Bytes(chunk.bytes.to_vec())),
                Ok(None) => Ok(Read::End),
                Err(_) => Err(Reset),
            },
            Self::Norm(handle) => handle.read().await,
            Self::Norp(reader) => reader.read().await,
        }
    }

    /// Tells the other end that no more is taken.
    pub fn stop(&mut self) {
        match self {
            // It may be over already.
            Self::Quic(stream) => drop(stream.stop(RESET)),
            Self::Norm(handle) => handle.reset(),
            Self::Norp(reader) => reader.stop(),
        }
    }
}

/// Writes a frame with its length ahead.
///
/// # Errors
/// When the stream is gone.
pub async fn write_frame(stream: &mut SendStream, frame: &[u8]) -> Result<(), Reset> {
    let length = u16::try_from(frame.len()).map_err(|_| Reset)?.to_be_bytes();
    stream.write_all(&[&length, frame].concat()).await.map_err(|_| Reset)
}

/// Reads a frame with its length ahead.
///
/// # Errors
/// When the stream is gone, or the frame is too long.
pub async fn read_frame(stream: &mut RecvStream) -> Result<Vec<u8>, Reset> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).await.map_err(|_| Reset)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > FRAME_MAX {
        return Err(Reset);
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await.map_err(|_| Reset)?;
    Ok(frame)
}
