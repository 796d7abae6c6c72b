//! The two directions of a connection by norp, between the relay and the task of the connection.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};

pub(crate) use crate::proxy::ends::{Read, Reset};

/// Pieces that may wait in each direction.
const WAITING_MAX: usize = 4;

/// How a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    /// The other end has everything that was written.
    Taken,
    /// It ended before that.
    Reset,
}

/// What is written.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// Nothing more comes.
    End,
}

/// The direction to the other end.
#[derive(Debug)]
pub struct Writer {
    pieces: mpsc::Sender<Piece>,
    fate: watch::Receiver<Fate>,
    reset: Arc<Notify>,
}

/// The direction from the other end.
#[derive(Debug)]
pub struct Reader {
    pieces: mpsc::Receiver<Vec<u8>>,
    fate: watch::Receiver<Fate>,
    reset: Arc<Notify>,
}

/// What the task of the connection has of them.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) written: mpsc::Receiver<Piece>,
    /// None when everything was given.
    pub(super) given: Option<mpsc::Sender<Vec<u8>>>,
    pub(super) fate: watch::Sender<Fate>,
    pub(super) reset: Arc<Notify>,
}

pub(super) fn pair() -> (Writer, Reader, Inner) {
    let (pieces, written) = mpsc::channel(WAITING_MAX);
    let (given, read) = mpsc::channel(WAITING_MAX);
    let (told, fate) = watch::channel(Fate::Open);
    let reset = Arc::new(Notify::new());
    let writer = Writer { pieces, fate: fate.clone(), reset: reset.clone() };
    let reader = Reader { pieces: read, fate, reset: reset.clone() };
    (writer, reader, Inner { written, given: Some(given), fate: told, reset })
}

async fn until_reset(fate: &watch::Receiver<Fate>) {
    let mut fate = fate.clone();
    // The task is gone without a word: that is a reset, too.
    let _ = fate.wait_for(|fate| *fate == Fate::Reset).await;
}

impl Writer {
    /// Writes all of it, as fast as the other end takes it.
    ///
    /// # Errors
    /// When the connection was reset.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Reset> {
        tokio::select! {
            sent = self.pieces.send(Piece::Bytes(bytes.to_vec())) => sent.map_err(|_| Reset),
            () = until_reset(&self.fate) => Err(Reset),
        }
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// When the connection was reset.
    pub fn finish(&mut self) -> Result<(), Reset> {
        let pieces = self.pieces.clone();
        // What waits before it is bounded, and the task takes it or is gone.
        tokio::spawn(async move { pieces.send(Piece::End).await });
        match *self.fate.borrow() {
            Fate::Reset => Err(Reset),
            _ => Ok(()),
        }
    }

    /// Tells the other end that the connection was reset.
    pub fn reset(&self) {
        self.reset.notify_one();
    }

    /// Waits until the other end takes no more: true when it has taken all.
    pub async fn stopped(&self) -> bool {
        let mut fate = self.fate.clone();
        let ended = fate.wait_for(|fate| *fate != Fate::Open).await;
        ended.is_ok_and(|fate| *fate == Fate::Taken)
    }
}

impl Reader {
    /// The next bytes.
    ///
    /// # Errors
    /// When the connection was reset.
    pub async fn read(&mut self) -> Result<Read, Reset> {
        match self.pieces.recv().await {
            Some(bytes) => Ok(Read::Bytes(bytes)),
            None if *self.fate.borrow() == Fate::Reset => Err(Reset),
            None => Ok(Read::End),
        }
    }

    /// Tells the other end that no more is taken.
    pub fn stop(&self) {
        self.reset.notify_one();
    }
}
