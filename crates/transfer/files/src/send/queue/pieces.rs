//! Pieces of a stream join the queue as they come, and leave it when all receivers have them.

use std::{io, path::PathBuf};

use crate::content::source::SourceFile;
use fanfare_node::Waker;
use fanfare_proto::Session;

use super::{HALF, Queue, SentObject, fed::Stream};
use crate::stream::feed::{Feed, Next};

impl Queue {
    /// Begins to read a stream, if that is what is sent.
    pub(in crate::send) fn start_feed(&mut self, waker: Waker) -> io::Result<()> {
        if let Some(stream) = &mut self.stream {
            stream.feed = Some(Feed::start(&stream.source, waker)?);
        }
        Ok(())
    }

    /// Whether pieces of a stream are still to come.
    pub(super) fn has_input(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::has_input)
    }

    /// Takes the next piece, when it has come.
    pub(super) fn take_fed(&mut self) {
        let Some(stream) = self.stream.as_mut().filter(|_| self.to_come.is_empty()) else { return };
        match stream.feed.as_mut().map(Feed::next) {
            Some(Next::Piece(fed)) => {
                self.bytes += fed.piece.len;
                self.to_come.push_back(SourceFile::piece_of(&stream.source, fed));
            }
            Some(Next::Failed(error)) => stream.broken = Some(error),
            Some(Next::Later | Next::Over) | None => {}
        }
    }

    /// How many objects a receiver must have said something of before it is known to be done: one
    /// that lacks a piece of a stream has no use for the others.
    pub(in crate::send) fn objects(&self) -> u64 {
        if self.stream.is_some() { 0 } else { self.total }
    }

    /// The object at this place, unless all receivers have had it.
    pub(super) fn sent_at(&self, place: usize) -> Option<&SentObject> {
        self.sent.get(place.checked_sub(self.shed)?)
    }

    /// Whether a stream waits for receivers: no more may be under way.
    pub(in crate::send) fn is_held_up(&self) -> bool {
        let full = self.enqueued >= self.followed + 2 * HALF || !self.has_input();
        self.stream.is_some() && self.marked.is_some() && full
    }

    /// Lets go of the pieces that all receivers have.
    pub(in crate::send) fn shed(&mut self, session: &mut Session) {
        if self.stream.is_none() {
            return;
        }
        while (self.shed as u64) < self.followed
            && let Some(sent) = self.sent.pop_front_if(|sent| sent.file.receipted().is_none())
        {
            self.shed += 1;
            session.sender().release(sent.key.object);
        }
    }

    /// Whether it could not be read to its end.
    pub(in crate::send) fn is_broken(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.broken.is_some())
    }

    /// What could not be read, and why.
    pub(in crate::send) fn broken(&self) -> Option<(PathBuf, String)> {
        let stream = self.stream.as_ref()?;
        Some((stream.source.path.clone(), stream.broken.as_ref()?.to_string()))
    }

    /// Whether pieces have gone that a receiver who comes now cannot have.
    pub(in crate::send) fn has_shed(&self) -> bool {
        self.shed > 0
    }
}
