//! One session's signalling with NRL's `norp`, from the request to the end: without socket and clock.
//!
//! The one who asks repeats its request until it is acknowledged, the other one its reply, and who ends
//! the session its END. Each is repeated every two round trips, 20 times (as norp does).

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

use super::{
    message::{Kind, Message},
    request,
};
use crate::proxy::code::Code;

/// A message is said so often in all (norp: 20 repetitions).
const REPEATS: u8 = 20;
/// Round trip before one is measured, and its bounds (norp's).
const ROUND_TRIP: Duration = Duration::from_secs(1);
const ROUND_TRIP_MIN: Duration = Duration::from_millis(1);
const ROUND_TRIP_MAX: Duration = Duration::from_secs(5);

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The other end is there: NORM can begin.
    Heard {
        /// Its NORM node.
        node: u32,
        /// Where its NORM comes from, and where it listens.
        ports: (u16, u16),
        /// The round trip.
        round_trip: Duration,
        /// It is of ours, not NRL's norp.
        ours: bool,
    },
    /// The far side has answered the request.
    Answered(Vec<u8>),
    /// The other end does not answer.
    Silent,
    /// The session is over at both ends.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Asks.
    Requesting,
    /// Was heard, and waits for the reply; or the far side connects.
    Connecting,
    /// Has answered, and waits until that was heard.
    Replying,
    Connected,
    Ending,
    Over,
}

/// The signalling of one session.
#[derive(Debug)]
pub struct Signalling {
    state: State,
    /// Whether this end has asked.
    asks: bool,
    /// The reply is a refusal: the one who has asked ends the session when it has it.
    refuses: bool,
    session: u16,
    /// This end's NORM.
    node: u32,
    ports: (u16, u16),
    round_trip: Option<Duration>,
    /// What is repeated, when it is next, and how often it still may be.
    repeated: Option<(Message, Time, u8)>,
    out: VecDeque<Message>,
    steps: VecDeque<Step>,
}

impl Signalling {
    /// Of the one who asks: with this request.
    #[must_use]
    pub fn asking(now: Time, session: u16, node: u32, ports: (u16, u16), request: Vec<u8>) -> Self {
        let mut signalling = Self::new(State::Requesting, session, node, ports);
        signalling.repeat(now, Kind::Request, request);
        signalling
    }

    /// Of the one who was asked: the first request is given to [`Self::on_message`].
    #[must_use]
    pub fn asked(session: u16, node: u32, ports: (u16, u16)) -> Self {
        Self::new(State::Connecting, session, node, ports)
    }

    fn new(state: State, session: u16, node: u32, ports: (u16, u16)) -> Self {
        Self {
            state,
            asks: state == State::Requesting,
            refuses: false,
            session,
            node,
            ports,
            round_trip: None,
            repeated: None,
            out: VecDeque::new(),
            steps: VecDeque::new(),
        }
    }

    /// Whether this end has asked.
    #[must_use]
    pub const fn asks(&self) -> bool {
        self.asks
    }

    fn message(&self, kind: Kind, stamp: u64, content: Vec<u8>) -> Message {
        let (session, node, ports) = (self.session, self.node, self.ports);
        Message { kind, ours: true, session, node, ports, stamp, content }
    }

    fn repeat(&mut self, now: Time, kind: Kind, content: Vec<u8>) {
        let message = self.message(kind, 0, content);
        self.repeated = Some((message, now, REPEATS));
        self.on_timeout(now);
    }

    /// The far side has connected, or has not: this is its reply.
    pub fn answer(&mut self, now: Time, reply: Vec<u8>) {
        if self.state == State::Connecting && !self.asks {
            self.state = State::Replying;
            self.refuses = request::code(&reply) != Code::Done;
            self.repeat(now, Kind::Reply, reply);
        }
    }

    /// Ends the session: the other end is told until it has heard it.
    pub fn end(&mut self, now: Time) {
        let refuses = self.refuses && self.state == State::Replying;
        if !refuses && !matches!(self.state, State::Ending | State::Over) {
            self.state = State::Ending;
            let kind = if self.asks { Kind::OriginatorEnd } else { Kind::CorrespondentEnd };
            self.repeat(now, kind, Vec::new());
        }
    }

    /// A message of the other end's about this session.
    pub fn on_message(&mut self, now: Time, message: &Message) {
        match (message.kind, self.state) {
            (Kind::Request, State::Connecting | State::Replying) if !self.asks => {
                let ack = self.message(Kind::RequestAck, message.stamp, Vec::new());
                self.out.push_back(ack);
            }
            (Kind::RequestAck, State::Requesting) => {
                self.measure(now, message.stamp);
                self.heard(message);
            }
            (Kind::Reply, State::Requesting | State::Connecting | State::Connected)
                if self.asks =>
            {
                if self.state == State::Requesting {
                    // Its acknowledgement was lost; the reply's stamp is of another clock.
                    self.heard(message);
                }
                self.out.push_back(self.message(Kind::ReplyAck, message.stamp, Vec::new()));
                if self.state == State::Connecting {
                    self.state = State::Connected;
                    self.steps.push_back(Step::Answered(message.content.clone()));
                }
            }
            (Kind::ReplyAck, State::Replying) => {
                self.measure(now, message.stamp);
                self.state = State::Connected;
                self.repeated = None;
                self.tell_heard(message);
            }
            (Kind::OriginatorEnd, _) if !self.asks => {
                // The one who has ended looks for its own session: no node (norp).
                self.out.push_back(Message::short(Kind::EndAck, self.session, 0));
                self.over();
            }
            (Kind::CorrespondentEnd, _) if self.asks => {
                self.out.push_back(Message::short(Kind::EndAck, self.session, self.node));
                self.over();
            }
            (Kind::EndAck, State::Ending) => self.over(),
            _ => {}
        }
    }

    fn heard(&mut self, message: &Message) {
        self.state = State::Connecting;
        self.repeated = None;
        self.tell_heard(message);
    }

    fn tell_heard(&mut self, message: &Message) {
        let round_trip = self.round_trip();
        let Message { node, ports, ours, .. } = *message;
        self.steps.push_back(Step::Heard { node, ports, round_trip, ours });
    }

    fn over(&mut self) {
        if self.state != State::Over {
            self.state = State::Over;
            self.repeated = None;
            self.steps.push_back(Step::Over);
        }
    }

    /// The other end gives back when a message was sent.
    fn measure(&mut self, now: Time, stamp: u64) {
        let sent = Time::from_nanos(stamp.saturating_mul(1000));
        if stamp > 0 && sent <= now {
            let found = now.since(sent).clamp(ROUND_TRIP_MIN, ROUND_TRIP_MAX);
            self.round_trip = Some(self.round_trip.map_or(found, |old| (old + found) / 2));
        }
    }

    fn round_trip(&self) -> Duration {
        self.round_trip.unwrap_or(ROUND_TRIP)
    }

    /// Time has passed.
    pub fn on_timeout(&mut self, now: Time) {
        let round_trip = self.round_trip();
        let Some((message, next, left)) = &mut self.repeated else { return };
        if *next > now {
            return;
        }
        if *left == 0 {
            self.repeated = None;
            let ending = self.state == State::Ending;
            self.state = State::Over;
            self.steps.push_back(if ending { Step::Over } else { Step::Silent });
            return;
        }
        *left -= 1;
        *next = now.plus(2 * round_trip);
        message.stamp = now.as_nanos() / 1000;
        self.out.push_back(message.clone());
    }

    /// When [`Self::on_timeout`] has something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        self.repeated.as_ref().map(|(_, next, _)| *next)
    }

    /// A message to send.
    pub fn poll_message(&mut self) -> Option<Message> {
        self.out.pop_front()
    }

    /// What has happened.
    pub fn poll_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: [u8; 10] = [5, 1, 0, 1, 10, 90, 0, 1, 0, 80];
    const REPLY: [u8; 10] = [5, 0, 0, 1, 10, 88, 0, 2, 195, 80];

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn ends() -> (Signalling, Signalling) {
        let near = Signalling::asking(at(1000), 7, 1, (40_000, 40_000), REQUEST.to_vec());
        (near, Signalling::asked(7, 2, (7002, 7002)))
    }

    /// Everything that `from` has to say arrives.
    fn pass(now: Time, from: &mut Signalling, to: &mut Signalling) -> Vec<Kind> {
        let mut kinds = Vec::new();
        while let Some(message) = from.poll_message() {
            let read = Message::parse(&message.to_bytes()).unwrap();
            kinds.push(read.kind);
            to.on_message(now, &read);
        }
        kinds
    }

    #[test]
    fn a_connection_takes_four_messages_and_both_ends_know_the_round_trip() {
        let (mut near, mut far) = ends();
        assert_eq!(pass(at(1050), &mut near, &mut far), [Kind::Request]);
        assert_eq!(pass(at(1100), &mut far, &mut near), [Kind::RequestAck]);
        let round_trip = Duration::from_millis(100);
        let heard = Step::Heard { node: 2, ports: (7002, 7002), round_trip, ours: true };
        assert_eq!(near.poll_step(), Some(heard));
        assert_eq!((near.next_timeout(), far.next_timeout()), (None, None));
        far.answer(at(1120), REPLY.to_vec());
        assert_eq!(pass(at(1170), &mut far, &mut near), [Kind::Reply]);
        assert_eq!(near.poll_step(), Some(Step::Answered(REPLY.to_vec())));
        assert_eq!(pass(at(1220), &mut near, &mut far), [Kind::ReplyAck]);
        let heard = Step::Heard { node: 1, ports: (40_000, 40_000), round_trip, ours: true };
        assert_eq!(far.poll_step(), Some(heard));
        // The end, from either side.
        near.end(at(2000));
        assert_eq!(pass(at(2050), &mut near, &mut far), [Kind::OriginatorEnd]);
        assert_eq!(far.poll_step(), Some(Step::Over));
        assert_eq!(pass(at(2100), &mut far, &mut near), [Kind::EndAck]);
        assert_eq!(near.poll_step(), Some(Step::Over));
        assert_eq!(near.next_timeout(), None);
    }

    #[test]
    fn a_lost_acknowledgement_of_the_request_is_made_up_for_by_the_reply() {
        let (mut near, mut far) = ends();
        pass(at(1050), &mut near, &mut far);
        while far.poll_message().is_some() {}
        far.answer(at(1060), REPLY.to_vec());
        assert_eq!(pass(at(1100), &mut far, &mut near), [Kind::Reply]);
        assert!(matches!(near.poll_step(), Some(Step::Heard { node: 2, .. })));
        assert_eq!(near.poll_step(), Some(Step::Answered(REPLY.to_vec())));
        // The acknowledgement of the reply is lost: it comes again, and is told once.
        while near.poll_message().is_some() {}
        let again = far.next_timeout().unwrap();
        far.on_timeout(again);
        assert_eq!(pass(again, &mut far, &mut near), [Kind::Reply]);
        assert_eq!(near.poll_step(), None);
        assert_eq!(pass(again, &mut near, &mut far), [Kind::ReplyAck]);
        assert!(matches!(far.poll_step(), Some(Step::Heard { .. })));
    }

    #[test]
    fn who_hears_nothing_repeats_twenty_times_and_gives_up() {
        let (mut near, _) = ends();
        let mut said = 0;
        while let Some(next) = near.next_timeout() {
            said += usize::from(near.poll_message().is_some());
            near.on_timeout(next);
        }
        assert_eq!((said, near.poll_step()), (20, Some(Step::Silent)));
        let mut far = Signalling::asked(7, 2, (7002, 7002));
        far.end(at(0));
        while let Some(next) = far.next_timeout() {
            far.on_timeout(next);
        }
        assert_eq!(far.poll_step(), Some(Step::Over));
    }

    #[test]
    fn a_refusal_is_said_until_the_one_who_asked_ends_the_session() {
        let (mut near, mut far) = ends();
        pass(at(1050), &mut near, &mut far);
        pass(at(1060), &mut far, &mut near);
        far.answer(at(1070), request::reply(Code::Refused, None));
        far.end(at(1070));
        assert!(far.poll_message().is_some());
        // It was lost.
        let again = far.next_timeout().unwrap();
        far.on_timeout(again);
        assert_eq!(pass(again, &mut far, &mut near), [Kind::Reply]);
        near.end(again);
        assert_eq!(pass(again, &mut near, &mut far), [Kind::ReplyAck, Kind::OriginatorEnd]);
        assert_eq!(pass(again, &mut far, &mut near), [Kind::EndAck]);
    }

    #[test]
    fn messages_that_do_not_fit_the_state_change_nothing() {
        let (mut near, mut far) = ends();
        while near.poll_message().is_some() {}
        for kind in [Kind::Request, Kind::ReplyAck, Kind::OriginatorEnd, Kind::EndAck] {
            near.on_message(at(1001), &Message { kind, ..near.message(kind, 0, REPLY.to_vec()) });
        }
        for kind in [Kind::RequestAck, Kind::Reply, Kind::ReplyAck, Kind::CorrespondentEnd] {
            far.on_message(at(1001), &Message { kind, ..far.message(kind, 0, REPLY.to_vec()) });
        }
        assert_eq!((near.poll_step(), far.poll_step()), (None, None));
        assert_eq!((near.poll_message(), far.poll_message()), (None, None));
    }
}
