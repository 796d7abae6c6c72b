//! Who has been told a code: looks for its host, and proves that it knows the words.

use std::{
    collections::{BTreeSet, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use crate::code_exchange::{
    code::Code,
    message::{Exchange, Message, Why},
    secret::{Agreed, Grant, Proposed},
};

/// Between two questions, and between two tries of the same message.
const ASK: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(500);
/// A host that does not answer so many times is left for another.
const TRIES: u32 = 20;
/// Hosts with which an exchange is begun: each could be a stranger who makes one guess with it.
const HOSTS_MAX: usize = 5;

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestEvent {
    /// A host with this number is here.
    Found(SocketAddr),
    /// The words were right.
    Granted {
        /// What it gave.
        grant: Grant,
        /// Where it is.
        host: SocketAddr,
    },
    /// This host has other words; so many guesses are left there.
    Wrong(SocketAddr, u8),
    /// This host lets nobody in any more: there were too many wrong guesses.
    Closed(SocketAddr),
    /// This host lets nobody in any more: all have come, or the time is over.
    Over(SocketAddr),
    /// There were too many hosts that are not the right one.
    GaveUp,
}

enum State {
    Looking,
    Proposing { proposed: Proposed, share: Vec<u8> },
    Proving(Agreed),
    Done,
}

/// The machine of who has been told a code. Times are since its beginning.
pub struct Guest {
    code: Code,
    exchange: Exchange,
    state: State,
    /// The host that it is at, and its number.
    host: Option<(SocketAddr, [u8; 8])>,
    /// Hosts that were not the right one.
    failed: BTreeSet<[u8; 8]>,
    tries: u32,
    next: Duration,
    outgoing: VecDeque<(Option<SocketAddr>, Vec<u8>)>,
    events: VecDeque<GuestEvent>,
}

impl std::fmt::Debug for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Guest of slot {}, host {:?}", self.code.slot(), self.host)
    }
}

impl Guest {
    /// Looks for the host of this code. `exchange`: random.
    #[must_use]
    pub fn new(code: &Code, exchange: [u8; 16]) -> Self {
        Self {
            code: code.clone(),
            exchange,
            state: State::Looking,
            host: None,
            failed: BTreeSet::new(),
            tries: 0,
            next: Duration::ZERO,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Something came from there; anything but messages for this code is left alone.
    pub fn on_datagram(&mut self, now: Duration, source: SocketAddr, bytes: &[u8]) {
        let Some((slot, message)) = Message::parse(bytes) else { return };
        if slot != self.code.slot() {
            return;
        }
        match message {
            Message::Beacon { host } => self.on_beacon(now, source, host),
            Message::Answer { exchange, share } if exchange == self.exchange => {
                self.on_answer(now, share);
            }
            Message::Grant { exchange, sealed } if exchange == self.exchange => {
                self.on_grant(sealed);
            }
            Message::Refusal { exchange, why, left } if exchange == self.exchange => {
                self.on_refusal(now, why, left);
            }
            _ => {}
        }
    }

    fn on_beacon(&mut self, now: Duration, source: SocketAddr, host: [u8; 8]) {
        if !matches!(self.state, State::Looking) || self.failed.contains(&host) {
            return;
        }
        self.events.push_back(GuestEvent::Found(source));
        let (proposed, share) = Proposed::new(&self.code, host, self.exchange);
        self.state = State::Proposing { proposed, share };
        (self.host, self.tries) = (Some((source, host)), 0);
        self.say(now);
    }

    fn on_answer(&mut self, now: Duration, share: &[u8]) {
        let State::Proposing { .. } = self.state else { return };
        let State::Proposing { proposed, .. } = std::mem::replace(&mut self.state, State::Looking)
        else {
            return;
        };
        match proposed.finish(share) {
            Some(agreed) => {
                (self.state, self.tries) = (State::Proving(agreed), 0);
                self.say(now);
            }
            None => self.leave(now),
        }
    }

    fn on_grant(&mut self, sealed: &[u8]) {
        let (State::Proving(agreed), Some((host, _))) = (&self.state, self.host) else { return };
        // One that does not open is not the host's: the right one may still come.
        if let Some(grant) = agreed.open(sealed) {
            self.state = State::Done;
            self.events.push_back(GuestEvent::Granted { grant, host });
        }
    }

    fn on_refusal(&mut self, now: Duration, why: Why, left: u8) {
        let Some((host, _)) = self.host else { return };
        if matches!(self.state, State::Looking | State::Done) {
            return;
        }
        match why {
            // It is asked again after a while.
            Why::Busy => return,
            Why::Wrong => self.events.push_back(GuestEvent::Wrong(host, left)),
            Why::Closed => self.events.push_back(GuestEvent::Closed(host)),
            Why::Over => self.events.push_back(GuestEvent::Over(host)),
        }
        self.leave(now);
    }

    /// This host is not the one.
    fn leave(&mut self, now: Duration) {
        self.state = State::Looking;
        self.failed.extend(self.host.take().map(|(_, id)| id));
        // The next exchange is another one.
        for byte in &mut self.exchange {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        self.next = now + ASK;
        if self.failed.len() >= HOSTS_MAX {
            self.state = State::Done;
            self.events.push_back(GuestEvent::GaveUp);
        }
    }

    /// Says what is to be said in this state.
    fn say(&mut self, now: Duration) {
        let exchange = self.exchange;
        let to = self.host.map(|(address, _)| address);
        let bytes = match (&self.state, self.host) {
            (State::Proposing { share, .. }, Some((_, host))) => {
                Message::Proposal { host, exchange, share }.encode(self.code.slot())
            }
            (State::Proving(agreed), _) => {
                Message::Proof { exchange, tag: agreed.proof() }.encode(self.code.slot())
            }
            _ => Message::Question.encode(self.code.slot()),
        };
        self.tries += 1;
        self.next = now + if matches!(self.state, State::Looking) { ASK } else { AGAIN };
        self.outgoing.push_back((to, bytes));
    }

    /// It is this late.
    pub fn handle_timeout(&mut self, now: Duration) {
        if now < self.next || matches!(self.state, State::Done) {
            return;
        }
        if self.tries >= TRIES && !matches!(self.state, State::Looking) {
            self.leave(now);
        } else {
            self.say(now);
        }
    }

    /// When it has something to do without anything coming; `None` when it is done.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        (!matches!(self.state, State::Done)).then_some(self.next)
    }

    /// What goes out next: to an address, or to wherever hosts may be.
    pub fn poll_transmit(&mut self) -> Option<(Option<SocketAddr>, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<GuestEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_exchange::{Host, HostEvent, Terms};

    fn code(text: &str) -> Code {
        Code::parse(text).unwrap()
    }
    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 9))
    }
    fn grant() -> Grant {
        let group = "239.255.42.1:6003".parse().unwrap();
        Grant { secret: [7; 32], group, name: "desk".to_owned() }
    }
    fn host(guests: usize) -> Host {
        let terms = Terms { guests, ..Terms::default() };
        Host::new(&code("7-otter-granite-river"), grant(), terms, [1; 8])
    }

    /// Everything that both say, in both directions, while `lost` does not say that it is lost; and
    /// what happened.
    fn talk(
        host: &mut Host,
        guest: &mut Guest,
        (now, from): (Duration, u8),
        mut lost: impl FnMut(&[u8]) -> bool,
    ) -> (Vec<HostEvent>, Vec<GuestEvent>) {
        host.handle_timeout(now);
        guest.handle_timeout(now);
        loop {
            let mut quiet = true;
            while let Some((_, bytes)) = guest.poll_transmit() {
                quiet = false;
                if !lost(&bytes) {
                    host.on_datagram(now, at(from), &bytes);
                }
            }
            while let Some((to, bytes)) = host.poll_transmit() {
                quiet = false;
                if to.is_none_or(|to| to == at(from)) && !lost(&bytes) {
                    guest.on_datagram(now, at(1), &bytes);
                }
            }
            if quiet {
                break;
            }
        }
        let mine = std::iter::from_fn(|| host.poll_event()).collect();
        (mine, std::iter::from_fn(|| guest.poll_event()).collect())
    }

    #[test]
    fn whoever_knows_the_words_gets_the_key_and_the_next_one_comes_too_late() {
        let mut host = host(2);
        for from in [2, 3] {
            let mut guest = Guest::new(&code("7-otter-granite-river"), [from; 16]);
            let (mine, theirs) = talk(&mut host, &mut guest, (Duration::ZERO, from), |_| false);
            assert_eq!(mine[0], HostEvent::Joined(at(from)));
            assert_eq!(mine.get(1), (from == 3).then_some(&HostEvent::Full));
            let granted = GuestEvent::Granted { grant: grant(), host: at(1) };
            assert_eq!(theirs, [GuestEvent::Found(at(1)), granted]);
        }
        let mut late = Guest::new(&code("7-otter-granite-river"), [4; 16]);
        late.on_datagram(Duration::ZERO, at(1), &Message::Beacon { host: [1; 8] }.encode(7));
        let (mine, theirs) = talk(&mut host, &mut late, (Duration::ZERO, 4), |_| false);
        assert!(mine.is_empty());
        assert_eq!(theirs[1], GuestEvent::Over(at(1)));
    }

    #[test]
    fn of_ten_thousand_wrong_guesses_none_passes_and_five_close_the_code() {
        let mut host = host(1);
        let (mut told, mut granted) = (Vec::new(), 0);
        for number in 0..10_000_u32 {
            let [a, b, c, d] = number.to_be_bytes();
            let guess = Code::of_chance([6, b, c, d]);
            let mut exchange = [9; 16];
            exchange[..4].copy_from_slice(&[a, b, c, d]);
            let mut guest = Guest::new(&guess, exchange);
            // A stranger needs no beacon: it knows the host.
            guest.on_datagram(Duration::ZERO, at(1), &Message::Beacon { host: [1; 8] }.encode(7));
            let now = Duration::from_millis(u64::from(number));
            let (mine, theirs) = talk(&mut host, &mut guest, (now, 66), |_| false);
            told.extend(mine);
            granted +=
                theirs.iter().filter(|one| matches!(one, GuestEvent::Granted { .. })).count();
            if number >= 5 {
                assert_eq!(theirs[1], GuestEvent::Closed(at(1)));
            }
        }
        assert_eq!(granted, 0);
        let wrong = |left| HostEvent::WrongGuess(at(66), left);
        assert_eq!(told, [wrong(4), wrong(3), wrong(2), wrong(1), wrong(0), HostEvent::Closed]);
        // The right words come too late, too.
        let mut guest = Guest::new(&code("7-otter-granite-river"), [1; 16]);
        guest.on_datagram(Duration::ZERO, at(1), &Message::Beacon { host: [1; 8] }.encode(7));
        let (_, theirs) = talk(&mut host, &mut guest, (Duration::from_secs(20), 2), |_| false);
        assert_eq!(theirs[1], GuestEvent::Closed(at(1)));
    }

    #[test]
    fn a_proof_that_is_sent_again_is_one_guess() {
        let mut host = host(1);
        let mut guest = Guest::new(&code("7-otter-granite-zebra"), [4; 16]);
        let mut proof = Vec::new();
        let keep = |bytes: &[u8]| {
            if bytes[4] == 5 {
                proof = bytes.to_vec();
            }
            false
        };
        let (mine, theirs) = talk(&mut host, &mut guest, (Duration::ZERO, 2), keep);
        assert_eq!(mine, [HostEvent::WrongGuess(at(2), 4)]);
        assert_eq!(theirs[1], GuestEvent::Wrong(at(1), 4));
        host.on_datagram(Duration::ZERO, at(2), &proof);
        assert_eq!(host.poll_event(), None);
    }

    #[test]
    fn whatever_is_lost_once_is_said_again() {
        for kind in 1..=6 {
            let mut host = host(1);
            let mut guest = Guest::new(&code("7-otter-granite-river"), [4; 16]);
            let (mut lost, mut granted) = (false, false);
            for half_second in 0..6 {
                let now = (Duration::from_millis(500 * half_second), 2);
                let (_, theirs) = talk(&mut host, &mut guest, now, |bytes| {
                    let now_lost = bytes[4] == kind && !lost;
                    lost |= now_lost;
                    now_lost
                });
                granted |= theirs.iter().any(|one| matches!(one, GuestEvent::Granted { .. }));
            }
            assert!(granted && lost, "kind {kind}");
        }
    }

    #[test]
    fn a_code_is_good_for_its_time() {
        let mut host = host(1);
        host.handle_timeout(Duration::from_secs(600));
        assert_eq!((host.poll_event(), host.next_timeout()), (Some(HostEvent::Over), None));
        let mut guest = Guest::new(&code("7-otter-granite-river"), [4; 16]);
        let (_, theirs) = talk(&mut host, &mut guest, (Duration::from_secs(601), 2), |_| false);
        assert!(theirs.is_empty());
    }

    #[test]
    fn who_only_begins_exchanges_keeps_few_others_out_and_learns_nothing() {
        let mut host = host(1);
        for number in 0..200_u8 {
            let (_, share) = Proposed::new(&code("7-otter-granite-zebra"), [1; 8], [number; 16]);
            let proposal =
                Message::Proposal { host: [1; 8], exchange: [number; 16], share: &share };
            host.on_datagram(Duration::ZERO, at(66), &proposal.encode(7));
        }
        let answers = std::iter::from_fn(|| host.poll_transmit());
        assert_eq!(answers.filter(|(_, bytes)| bytes[4] == 4).count(), 8);
        let mut guest = Guest::new(&code("7-otter-granite-river"), [250; 16]);
        let (mine, _) = talk(&mut host, &mut guest, (Duration::from_millis(1500), 2), |_| false);
        assert_eq!(mine, [HostEvent::Joined(at(2)), HostEvent::Full]);
    }

    #[test]
    fn a_guest_stops_after_five_hosts_that_are_not_the_right_one() {
        let mut guest = Guest::new(&code("7-otter-granite-river"), [4; 16]);
        let mut gave_up = false;
        for number in 1..=6 {
            let terms = Terms::default();
            let mut host = Host::new(&code("7-acorn-acorn-acorn"), grant(), terms, [number; 8]);
            let now = Duration::from_secs(2 * u64::from(number));
            let (_, theirs) = talk(&mut host, &mut guest, (now, 2), |_| false);
            gave_up |= theirs.contains(&GuestEvent::GaveUp);
            assert_eq!(theirs.is_empty(), number == 6, "{number}");
        }
        assert!(gave_up && guest.next_timeout().is_none());
    }
}
