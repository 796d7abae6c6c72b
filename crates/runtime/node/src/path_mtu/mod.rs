//! Paths that carry no datagrams as long as those that are sent.
//!
//! A switch, a tunnel or another machine's interface may have a smaller MTU than this machine's, and nothing
//! tells a sender of multicast. Then short messages arrive and data does not, for ever. So a sender says now
//! and then how long its datagrams were (a mark). A receiver that hears marks, and none of these datagrams,
//! says so (deaf). The sender then sends one datagram of each of several lengths (a series of rungs), and the
//! receiver says which was the longest to come (heard). From then on longer messages go in fragments to the
//! group and to that host. Where the system itself refuses a length, fragments are used at once.
//!
//! - `message`: the bytes; `fragments`: cut and put together; `sending`, `hearing`: the two sides
//!
//! It has no I/O. What a receiver says is believed as far as its messages are: fragments cost the sender a
//! few more datagrams, and no host can make them shorter than what every path carries.

mod fragments;
mod hearing;
mod message;
mod sending;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use fanfare_proto::Time;

use crate::chance::random;
pub(crate) use fragments::FragmentCut;
use fragments::FragmentStore;
use hearing::HearingSide;
use message::PathMessage;
pub(crate) use sending::ShortPath;
use sending::{ALWAYS, SHORTER, SendingSide};

/// A receiver that hears nothing longer sends nothing longer for so long: paths are mostly the same in both
/// directions.
const OWN_LIMIT: Duration = Duration::from_secs(100);

/// Path MTU of a node, in both roles.
#[derive(Debug)]
pub(crate) struct PathMtu {
    overhead: usize,
    silent: bool,
    sending: SendingSide,
    hearing: HearingSide,
    store: FragmentStore,
    /// What goes out from here is no longer than this.
    own: Option<(usize, Time)>,
    next_id: u32,
}

impl PathMtu {
    /// One message is refused so often at most: each time it goes in shorter fragments.
    pub(crate) const REFUSALS_MAX: usize = SHORTER.len();

    /// For messages that sealing makes longer by `overhead`. A `silent` node says nothing of what it hears.
    pub(crate) fn new(overhead: usize, silent: bool) -> Self {
        Self {
            overhead,
            silent,
            sending: SendingSide::new(overhead),
            hearing: HearingSide::default(),
            store: FragmentStore::default(),
            own: None,
            next_id: 0,
        }
    }

    /// How messages of `size` bytes are cut for this destination; `None` where they go whole.
    pub(crate) fn cut(&mut self, now: Time, to: SocketAddr, size: usize) -> Option<FragmentCut> {
        self.sending.on_wanted(now, to, size);
        self.own = self.own.filter(|(_, until)| now < *until);
        let own = self.own.map_or(usize::MAX, |(bytes, _)| bytes);
        let limit = self.sending.limit(to).min(own);
        if size <= limit {
            return None;
        }
        FragmentCut::new(size, limit)
    }

    /// The number of the next message that goes in fragments.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    /// Datagrams of messages or fragments of `size` bytes have gone there.
    pub(crate) fn on_sent(&mut self, now: Time, to: SocketAddr, size: usize, count: usize) {
        self.sending.on_sent(now, to, size, count);
    }

    /// The system refuses a message of so many bytes there as too long. True when it is to be tried again.
    pub(crate) fn on_refused(&mut self, now: Time, to: SocketAddr, size: usize) -> bool {
        self.sending.on_refused(now, to, size)
    }

    /// Gives `each` what is in a run beside messages about lengths, and messages that have become whole.
    pub(crate) fn take(
        &mut self,
        now: Time,
        source: SocketAddr,
        run: &[u8],
        stride: usize,
        mut each: impl FnMut(&[u8], usize),
    ) {
        let stride = stride.max(1);
        let mut rest = run;
        while !rest.is_empty() {
            let plain = rest.chunks(stride).take_while(|one| !PathMessage::is_one(one));
            let plain: usize = plain.map(<[u8]>::len).sum();
            let (ours, after) = rest.split_at(plain);
            if !ours.is_empty() {
                self.hearing.on_datagram(now, source, stride.min(ours.len()));
                each(ours, stride);
            }
            let (message, after) = after.split_at(stride.min(after.len()));
            rest = after;
            if let Some(whole) = self.on_message(now, source, message) {
                each(&whole, whole.len());
            }
        }
    }

    fn on_message(&mut self, now: Time, source: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        match PathMessage::parse(bytes)? {
            fragment @ PathMessage::Fragment { .. } => {
                self.hearing.on_datagram(now, source, bytes.len());
                return self.store.on_fragment(now, source, fragment);
            }
            _ if self.silent => {}
            PathMessage::Mark { longest, count } => {
                self.hearing.on_mark(now, source, longest, count);
            }
            PathMessage::Rung { series, longest, last } => {
                let heard = self.hearing.on_rung(now, source, series, longest, last, bytes.len());
                if let Some(heard) = heard {
                    let least = ALWAYS.saturating_sub(self.overhead);
                    let is_short = heard < usize::from(longest);
                    self.own = is_short.then_some((heard.max(least), now + OWN_LIMIT));
                }
            }
            PathMessage::Deaf { wanted, .. } => {
                self.sending.on_deaf(now, source, wanted.into(), number());
            }
            PathMessage::Heard { series, longest, wanted } => {
                self.sending.on_heard(now, source, series, longest.into(), wanted.into());
            }
        }
        None
    }

    /// Time has passed.
    pub(crate) fn advance(&mut self, now: Time) {
        self.sending.advance(now, number);
    }

    /// What is to be said about lengths: it goes as it is, and is not cut.
    pub(crate) fn poll_message(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.sending.messages.pop_front().or_else(|| self.hearing.messages.pop_front())
    }

    /// A host whose path has a smaller MTU, to be told to people.
    pub(crate) fn poll_news(&mut self) -> Option<ShortPath> {
        self.sending.news.pop_front()
    }

    /// When [`Self::advance`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.sending.next_timeout()
    }
}

/// A number for a series: who has not heard the series does not know it.
fn number() -> u32 {
    random() as u32
}
