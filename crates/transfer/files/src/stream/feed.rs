//! The sender's thread that reads a stream and cuts it into pieces.

use std::{
    fs::File,
    io::{self, Read},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

use crate::content::stream::{
    Fed, StreamSource,
    piece::{End, PIECE_MAX, Piece, without_zeros},
};
use fanfare_node::Waker;
use fanfare_udp::os::input::is_readable;

/// Pieces read before there is room for them: enough to bridge a pause of the reader.
const AHEAD: usize = 8;
/// A piece that is not full goes when nothing more has come for so long.
const LINGER: Duration = Duration::from_millis(100);

/// What comes next of a stream.
#[derive(Debug)]
pub(crate) enum Next {
    Piece(Box<Fed>),
    /// Nothing has come yet.
    Later,
    /// The last piece was taken before.
    Over,
    Failed(io::Error),
}

/// The pieces of a stream, as they are read.
#[derive(Debug)]
pub(crate) struct Feed {
    pieces: Receiver<io::Result<Fed>>,
    over: bool,
}

impl Feed {
    /// Starts the thread. It ends with its input, or when nobody takes what it reads.
    pub(crate) fn start(source: &StreamSource, waker: Waker) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(AHEAD);
        let (input, name, size) = (source.input.clone(), source.name.clone(), source.size);
        std::thread::Builder::new().name("fanfare-feed".into()).spawn(move || {
            let mut cutter = Cutter::new(name, size);
            let result = cutter.run(&input, &mut |fed| hand_over(&sender, &waker, Ok(fed)));
            if let Err(error) = result {
                hand_over(&sender, &waker, Err(error));
            }
        })?;
        Ok(Self { pieces, over: false })
    }

    /// The next piece.
    pub(crate) fn next(&mut self) -> Next {
        if self.over {
            return Next::Over;
        }
        match self.pieces.try_recv() {
            Ok(Ok(fed)) => {
                self.over = fed.piece.end.is_some();
                Next::Piece(Box::new(fed))
            }
            Ok(Err(error)) => {
                self.over = true;
                Next::Failed(error)
            }
            Err(TryRecvError::Empty) => Next::Later,
            Err(TryRecvError::Disconnected) => {
                self.over = true;
                Next::Failed(io::ErrorKind::UnexpectedEof.into())
            }
        }
    }

    /// Whether the last piece was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

/// False when nobody takes it any more.
fn hand_over(sender: &SyncSender<io::Result<Fed>>, waker: &Waker, fed: io::Result<Fed>) -> bool {
    let sent = sender.send(fed).is_ok();
    waker.wake();
    sent
}

/// Cuts what is read into pieces.
struct Cutter {
    name: String,
    /// Bytes that will come, as far as that is known.
    size: Option<u64>,
    hasher: blake3::Hasher,
    number: u64,
    /// Bytes cut so far.
    offset: u64,
}

impl Cutter {
    fn new(name: String, size: Option<u64>) -> Self {
        Self { name, size, hasher: blake3::Hasher::new(), number: 0, offset: 0 }
    }

    fn run(&mut self, mut input: &File, take: &mut dyn FnMut(Fed) -> bool) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_MAX];
        loop {
            let count = fill(&mut input, &mut buffer)?;
            if count == 0 {
                let total = self.offset;
                let hash = *self.hasher.finalize().as_bytes();
                let fed = self.cut(&[], Some(End { total, hash }));
                take(fed);
                return Ok(());
            }
            let bytes = &buffer[..count];
            self.hasher.update(bytes);
            let (kept, zeros) = without_zeros(bytes);
            // What is all zeros is told by where the next piece begins.
            if !kept.is_empty() {
                let fed = self.cut_kept(kept, zeros, count as u64, None);
                if !take(fed) {
                    return Ok(());
                }
            }
            self.offset += count as u64;
        }
    }

    fn cut(&mut self, bytes: &[u8], end: Option<End>) -> Fed {
        self.cut_kept(bytes.to_vec(), 0, bytes.len() as u64, end)
    }

    fn cut_kept(&mut self, kept: Vec<u8>, zeros: u64, len: u64, end: Option<End>) -> Fed {
        let name = (self.number == 0 || end.is_some()).then(|| self.name.clone());
        let size = self.size.filter(|_| self.number == 0);
        let piece = Piece { number: self.number, offset: self.offset, len, zeros, end, name, size };
        self.number += 1;
        Fed { piece, root: *blake3::hash(&kept).as_bytes(), bytes: Arc::new(kept) }
    }
}

/// Fills the buffer, or as much of it as comes without a pause; none at the end.
fn fill(input: &mut &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        if filled > 0 && !has_more(input)? {
            break;
        }
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Whether something can be read within a short time.
fn has_more(input: &File) -> io::Result<bool> {
    loop {
        match is_readable(input, LINGER) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            looked => return looked,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn cut(bytes: &[u8]) -> Vec<Fed> {
        let mut file = fanfare_node::disk::unnamed_file().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let mut all = Vec::new();
        let mut cutter = Cutter::new("s".into(), Some(9));
        cutter
            .run(&file, &mut |fed| {
                all.push(fed);
                true
            })
            .unwrap();
        all
    }

    #[test]
    fn a_stream_is_cut_into_numbered_pieces_and_the_last_tells_length_and_hash() {
        let bytes: Vec<u8> = (0..2 * PIECE_MAX + 9).map(|n| (n % 251) as u8 + 1).collect();
        let all = cut(&bytes);
        let numbers: Vec<u64> = all.iter().map(|fed| fed.piece.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        let sizes: Vec<Option<u64>> = all.iter().map(|fed| fed.piece.size).collect();
        assert_eq!(sizes, [Some(9), None, None, None]);
        let end = all[3].piece.end.unwrap();
        assert_eq!((end.total, end.hash), (bytes.len() as u64, *blake3::hash(&bytes).as_bytes()));
        assert!(all.iter().all(|fed| fed.piece.is_sound(fed.bytes.len() as u64)));
    }

    #[test]
    fn pieces_of_nothing_but_zeros_are_left_out() {
        let mut bytes = vec![0; 100 * PIECE_MAX];
        bytes[50 * PIECE_MAX + 3] = 1;
        let all = cut(&bytes);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].piece.offset, all[0].bytes.len()), (50 * PIECE_MAX as u64, 4096));
        assert_eq!(all[1].piece.end.unwrap().total, bytes.len() as u64);
    }

    #[test]
    fn an_empty_stream_has_an_end() {
        let all = cut(&[]);
        assert_eq!((all.len(), all[0].piece.end.unwrap().total), (1, 0));
    }
}
