//! A sender and receivers with paths of several lengths, in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use fanfare_proto::rng::Rng;

use super::*;

const GROUP: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(239, 255, 42, 1)), 6003);
const STEP: Duration = Duration::from_millis(20);

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 40_000))
}

/// A sender, receivers, and what the path to each of them carries: bytes of a message.
struct Paths {
    now: Time,
    sender: PathMtu,
    receivers: Vec<(PathMtu, usize)>,
    loss: f64,
    rng: Rng,
    /// Longest datagram that the system lets out.
    interface: usize,
    /// Messages that came whole, for each receiver, and datagrams that were sent.
    whole: Vec<u32>,
    datagrams: u32,
}

impl Paths {
    fn new(carries: &[usize], loss: f64) -> Self {
        Self {
            now: Time::ZERO,
            sender: PathMtu::new(0, false),
            receivers: carries.iter().map(|most| (PathMtu::new(0, false), *most)).collect(),
            loss,
            rng: Rng::new(7),
            interface: usize::MAX,
            whole: vec![0; carries.len()],
            datagrams: 0,
        }
    }

    /// A datagram of the sender, to everybody.
    fn put(&mut self, datagram: &[u8]) {
        self.datagrams += 1;
        for (n, (receiver, most)) in self.receivers.iter_mut().enumerate() {
            if datagram.len() > *most || self.rng.unit() < self.loss {
                continue;
            }
            let whole = &mut self.whole[n];
            receiver.take(self.now, address(1), datagram, datagram.len(), |bytes, _| {
                assert!(bytes.iter().all(|byte| *byte == 0x77), "as it was sent");
                *whole += 1;
            });
        }
    }

    /// The sender sends a message, and shorter ones where the system refuses it.
    fn send(&mut self, size: usize) {
        let message = vec![0x77; size];
        loop {
            let cut = self.sender.cut(self.now, GROUP, size);
            let length = cut.map_or(size, FragmentCut::len);
            if length > self.interface {
                assert!(self.sender.on_refused(self.now, GROUP, length));
                continue;
            }
            let mut out = Vec::new();
            match cut {
                None => out.push(message.clone()),
                Some(cut) => {
                    let id = self.sender.next_id();
                    cut.fragment(id, &message, |fragment| out.push(fragment.to_vec()));
                }
            }
            self.sender.on_sent(self.now, GROUP, length, out.len());
            return out.iter().for_each(|datagram| self.put(datagram));
        }
    }

    /// Time goes on; in each step the sender sends some messages of this size.
    fn run(&mut self, time: Duration, size: usize, each: usize) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.now + STEP;
            (0..each).for_each(|_| self.send(size));
            self.sender.advance(self.now);
            while let Some((_, message)) = self.sender.poll_message() {
                if message.len() <= self.interface {
                    self.put(&message);
                }
            }
            for (n, last) in (2..).enumerate().take(self.receivers.len()) {
                self.receivers[n].0.advance(self.now);
                while let Some((to, answer)) = self.receivers[n].0.poll_message() {
                    assert_eq!(to, address(1));
                    if self.rng.unit() < self.loss {
                        continue;
                    }
                    self.sender.take(self.now, address(last), &answer, answer.len(), |_, _| {
                        panic!("an answer is for nobody else")
                    });
                }
            }
        }
    }

    /// Whether all messages of a second come to all.
    fn all_hear(&mut self, size: usize) -> bool {
        self.whole.fill(0);
        self.run(Duration::from_secs(1), size, 2);
        self.whole.iter().all(|whole| *whole == 100)
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn every_mtu_from_576_to_9216_at_one_receiver_of_three_is_found_within_two_seconds() {
    for mtu in (576..=9_216).step_by(96) {
        for size in [1_440, 8_232] {
            let mut paths = Paths::new(&[9_188, mtu - 28, 9_188], 0.0);
            paths.run(2 * SECOND, size, 2);
            assert!(paths.all_hear(size), "MTU {mtu}, messages of {size}: {:?}", paths.whole);
            let news = paths.sender.poll_news();
            assert_eq!(news.is_some(), size > mtu - 28, "MTU {mtu} {news:?}");
            assert_eq!(paths.sender.poll_news(), None, "told once");
            if let Some(news) = news {
                assert_eq!((news.host, news.sent), (address(3).ip(), size));
                assert!(news.to_string().contains("host 10.0.0.3 has a smaller MTU"));
            }
        }
    }
}

#[test]
fn a_host_whose_path_carries_less_than_any_fragment_is_told_once_with_what_to_do() {
    for path in [30, 200, 400, 527] {
        let mut paths = Paths::new(&[9_188, path], 0.0);
        paths.run(15 * SECOND, 1_440, 2);
        let news: Vec<String> =
            std::iter::from_fn(|| paths.sender.poll_news()).map(|news| news.to_string()).collect();
        let words = "host 10.0.0.3 gets nothing: packets of 576 bytes do not arrive there, and none are \
                     sent shorter than that. Give its path an MTU of 576 or more";
        assert_eq!(news, [words], "{path}");
    }
}

#[test]
fn no_loss_by_chance_is_told_as_a_path_that_carries_nothing() {
    for loss in [0.1, 0.3] {
        let mut paths = Paths::new(&[1_422, 1_252, 9_000], loss);
        paths.run(60 * SECOND, 1_440, 2);
        let news: Vec<String> =
            std::iter::from_fn(|| paths.sender.poll_news()).map(|news| news.to_string()).collect();
        assert!(!news.is_empty() && news.iter().all(|one| one.contains("smaller MTU")), "{news:?}");
    }
}

#[test]
fn with_loss_it_takes_a_little_longer() {
    for loss in [0.02, 0.1, 0.3] {
        let mut paths = Paths::new(&[1_422, 1_252, 9_000], loss);
        paths.run(6 * SECOND, 1_440, 2);
        paths.loss = 0.0;
        assert!(paths.all_hear(1_440), "{loss}: {:?}", paths.whole);
    }
}

#[test]
fn a_path_that_becomes_shorter_in_the_middle_is_found_and_so_is_one_that_becomes_longer() {
    for (first, then) in [(9_188, 1_472), (1_472, 1_252), (1_402, 548)] {
        let mut paths = Paths::new(&[9_188, 9_188], 0.0);
        paths.receivers[1].1 = first;
        paths.run(3 * SECOND, 8_232, 2);
        assert!(paths.all_hear(8_232), "{first}");
        paths.receivers[1].1 = then;
        paths.run(15 * SECOND, 8_232, 2);
        assert!(paths.all_hear(8_232), "{first} {then}: {:?}", paths.whole);
        paths.receivers[1].1 = 9_188;
        paths.run(40 * SECOND, 8_232, 1);
        let before = paths.datagrams;
        assert!(paths.all_hear(8_232));
        let sent = paths.datagrams - before;
        assert!(sent < 110, "whole again: {sent} {first} {then} {:?}", paths.sender);
    }
}

#[test]
fn where_the_system_refuses_a_length_the_next_shorter_one_is_sent_at_once() {
    for interface in [548, 972, 1_252, 1_452, 3_972] {
        let mut paths = Paths::new(&[9_188], 0.0);
        paths.interface = interface;
        assert!(paths.all_hear(8_232), "{interface}");
    }
}

#[test]
fn loss_and_pauses_alone_make_no_fragments() {
    for loss in [0.0, 0.2, 0.5] {
        for each in [0, 1, 5] {
            let mut paths = Paths::new(&[1_472, 1_472], loss);
            paths.run(20 * SECOND, 1_440, each);
            // A single message now and then.
            for _ in 0..20 {
                paths.send(1_440);
                paths.run(SECOND / 2, 1_440, 0);
            }
            paths.loss = 0.0;
            assert_eq!(paths.sender.cut(paths.now, GROUP, 1_440), None, "{loss} {each}");
        }
    }
}

#[test]
fn short_messages_need_no_marks_and_silent_receivers_say_nothing() {
    let mut paths = Paths::new(&[300], 0.0);
    paths.run(5 * SECOND, 500, 3);
    assert_eq!(paths.datagrams, 5 * 50 * 3);
    let mut paths = Paths::new(&[548], 0.0);
    paths.receivers[0].0 = PathMtu::new(0, true);
    paths.run(5 * SECOND, 1_440, 3);
    assert_eq!(paths.sender.cut(paths.now, GROUP, 1_440), None);
    assert!(paths.datagrams < 5 * 50 * 3 + 20, "marks alone: {}", paths.datagrams);
}

#[test]
fn answers_to_no_series_change_nothing_and_no_host_makes_fragments_shorter_than_any_path_needs() {
    let mut paths = Paths::new(&[9_188], 0.0);
    paths.run(SECOND, 1_440, 2);
    for number in 0..1_000 {
        let heard = PathMessage::Heard { series: number, longest: 40, wanted: 1_440 }.to_bytes();
        paths.sender.take(paths.now, address(9), &heard, heard.len(), |_, _| {});
    }
    assert_eq!(paths.sender.cut(paths.now, GROUP, 1_440), None);
    let mut paths = Paths::new(&[100], 0.0);
    paths.run(5 * SECOND, 1_440, 2);
    let cut = paths.sender.cut(paths.now, GROUP, 1_440).unwrap();
    assert!(cut.len() > 400, "{cut:?}");
}

#[test]
fn a_receiver_that_hears_nothing_longer_answers_no_longer() {
    let mut paths = Paths::new(&[1_252], 0.0);
    paths.run(3 * SECOND, 1_440, 2);
    let now = paths.now;
    assert!(paths.receivers[0].0.cut(now, address(1), 1_400).is_some());
    assert!(paths.receivers[0].0.cut(now, GROUP, 1_000).is_none());
}
