//! Objects that take turns: in which order they go, and what is said of it.

use super::*;
use crate::enqueue::Turn;
use fanfare_wire::ext::ExtTurn;

/// Object and what is said of turns, of each message of an object.
type Turned = (u16, Vec<ExtTurn>);

impl Harness {
    /// An object of so many bytes, and one for its INFO, in a lane of its own.
    fn enqueue_in_turn(&mut self, bytes: usize, turn: Option<Turn>) -> ObjectKey {
        let (kind, size, pass) = (ObjectKind::Data, bytes as u64, FirstPass::Whole);
        let object = NewObject { kind, size, info: Some(Vec::from([1])), pass };
        let key = self.sender.enqueue(self.now, (object, turn), &mut self.events).unwrap();
        self.storage.put(key, alloc::vec![0; bytes]);
        key
    }

    /// What is said of objects in a time, with the first `heard` of each message.
    fn turns(&mut self, time: Duration) -> Vec<Turned> {
        let (mut all, end) = (Vec::new(), self.now + time);
        while let Some((at, _)) = self.sender.next_timeout().filter(|(at, _)| *at < end) {
            self.now = at.max(self.now);
            let mut out = Vec::new();
            if !self.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
                self.call(|sender, ctx| sender.on_timeout(ctx));
                continue;
            }
            match Message::parse(&out).unwrap() {
                Message::Info(info) => {
                    all.push((info.object_transport_id.0, info.extensions.turns().collect()));
                }
                Message::Data(data) => {
                    all.push((data.object_transport_id.0, data.extensions.turns().collect()));
                }
                _ => {}
            }
        }
        self.now = end;
        all
    }
}

fn turn(priority: u8, lane: u64) -> Option<Turn> {
    Some(Turn { priority, lane })
}
fn open(first: u16, count: u8) -> ExtTurn {
    ExtTurn::Open { first: ObjectTransportId(first), count }
}
fn reach(object: u16) -> ExtTurn {
    ExtTurn::Reach(ObjectTransportId(object))
}

/// A sender that has said the first messages of a long object of 17.
fn begun() -> Harness {
    let mut hand = Harness::new(SenderConfig { rate: Bitrate::kbps(80), ..config() });
    hand.enqueue_in_turn(1600, turn(4, 0));
    let said = hand.turns(ms(50));
    assert!((2..9).contains(&said.len()) && said.iter().all(|said| *said == (0, Vec::new())));
    hand
}

#[test]
fn a_short_object_goes_between_two_messages_of_a_long_one_and_says_so() {
    let mut hand = begun();
    hand.enqueue_in_turn(0, turn(4, 1));
    let said = hand.turns(ms(1000));
    assert_eq!(said[0], (1, Vec::from([open(0, 1)])));
    assert!(said.len() > 8 && said[1..].iter().all(|said| *said == (0, Vec::from([reach(1)]))));
    hand.enqueue_in_turn(0, turn(4, 1));
    assert_eq!(hand.turns(ms(200)), [(2, Vec::new())], "nothing is open any more");
}

#[test]
fn of_one_lane_and_without_a_turn_the_order_stays_and_nothing_is_said() {
    for (long, short) in [(turn(4, 0), turn(4, 0)), (None, None), (None, turn(9, 1))] {
        let mut hand = Harness::new(SenderConfig { rate: Bitrate::kbps(80), ..config() });
        hand.enqueue_in_turn(1600, long);
        hand.turns(ms(50));
        hand.enqueue_in_turn(0, short);
        let said = hand.turns(ms(1000));
        assert_eq!(said.last().map(|said| said.0), Some(1));
        assert!(said.iter().all(|(_, turns)| turns.is_empty()), "{said:?}");
    }
}

#[test]
fn an_object_of_a_higher_priority_is_itself_overtaken_and_all_that_is_open_is_named() {
    let mut hand = begun();
    hand.enqueue_in_turn(1600, turn(7, 1));
    assert!(hand.turns(ms(60)).iter().all(|said| *said == (1, Vec::from([open(0, 1)]))));
    hand.enqueue_in_turn(0, turn(7, 2));
    let said = hand.turns(ms(2500));
    assert_eq!(said[0], (2, Vec::from([open(0, 2)])));
    let second: Vec<_> = said.iter().filter(|said| said.0 == 1).collect();
    assert!(second.iter().all(|said| said.1 == [open(0, 1), reach(2)]), "{second:?}");
    let first: Vec<_> = said.iter().filter(|said| said.0 == 0).map(|said| &said.1).collect();
    assert_eq!(**first.last().unwrap(), [reach(2)]);
    assert!(first.iter().any(|turns| **turns == [open(1, 1), reach(2)]), "an eighth is its own");
}

#[test]
fn what_waits_and_was_not_begun_is_open_too() {
    let mut hand = begun();
    hand.enqueue_in_turn(1600, turn(4, 1));
    hand.enqueue_in_turn(1600, turn(4, 2));
    hand.enqueue_in_turn(0, turn(4, 3));
    assert_eq!(hand.turns(ms(20))[0], (3, Vec::from([open(0, 3)])));
    let said = hand.turns(ms(50));
    assert_eq!(said[0], (0, Vec::from([open(1, 2), reach(3)])));
}

#[test]
fn a_flush_waits_until_the_long_object_has_ended() {
    let mut hand = begun();
    hand.enqueue_in_turn(0, turn(4, 1));
    let (said, _) = hand.run_until(hand.now + ms(2500));
    let last = said.iter().rposition(|(_, said)| matches!(said, Said::Data { .. })).unwrap();
    let flush = said.iter().position(|(_, said)| matches!(said, Said::Flush { .. })).unwrap();
    assert!(last < flush);
    assert_eq!(flushes(&said.into_iter().map(|(_, said)| said).collect::<Vec<_>>()), 3);
}

#[test]
fn an_overtaken_object_that_is_withdrawn_is_open_no_more() {
    let mut hand = begun();
    hand.enqueue_in_turn(0, turn(4, 1));
    hand.turns(ms(20));
    let (now, object) = (hand.now, OBJECT);
    assert!(hand.sender.cancel(now, object, &mut hand.events));
    hand.enqueue_in_turn(0, turn(4, 1));
    assert_eq!(hand.turns(ms(100)), [(2, Vec::new())]);
}

#[test]
fn requests_for_what_is_to_come_of_a_long_object_cause_nothing() {
    let mut hand = begun();
    hand.enqueue_in_turn(0, turn(4, 1));
    hand.turns(ms(20));
    // As a receiver asks that takes the short object for the end of the long one.
    hand.nack(2, false, |w| {
        assert!(w.item(RepairLevel(RepairLevel::BLOCK), OBJECT, id(1, 0)));
    });
    let said = hand.run(ms(2500));
    assert!(said.iter().all(|said| !matches!(said, Said::Data { repair: true, .. })), "{said:?}");
}
