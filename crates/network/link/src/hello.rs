//! What the two ends say first: who they are this time, and whether they met before.
//!
//! ```text
//! hello (34 bytes)   version 1, flags, instance (16), the other end's instance as known (16)
//! ```
//! Each end of a link draws an instance, and another one when it forgets what it had: at its process's
//! start, and when no connection came for too long. Both ends go on with what they had when each of them
//! is the one that the other remembers; an end that meets another instance begins anew.
//!
//! The end that dials does not wait for the answer: its messages follow its hello at once. So they may
//! come to another instance than the one that it remembers. That one takes nothing of them; the end that
//! has dialled learns from the answer who is there, forgets, and dials again.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use quinn::{RecvStream, SendStream};

use crate::kind::STREAM_CONTROL;

/// Drawn by each end of a link, as above.
pub type Instance = [u8; 16];

/// This version.
const VERSION: u8 = 1;
/// Length of a hello.
pub(crate) const BYTES: usize = 34;

/// What each end says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// This end.
    pub instance: Instance,
    /// The other end as this end knows it; zeros before they met.
    pub known: Instance,
}

impl Hello {
    pub(crate) fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = VERSION;
        bytes[2..18].copy_from_slice(&self.instance);
        bytes[18..].copy_from_slice(&self.known);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; BYTES]) -> Option<Self> {
        let (instance, known) = (bytes[2..18].try_into().ok()?, bytes[18..].try_into().ok()?);
        (bytes[0] == VERSION && instance != [0; 16]).then_some(Self { instance, known })
    }

    /// Whether the two go on where they were.
    pub(crate) fn resumes(self, other: Self) -> bool {
        self.known == other.instance && other.known == self.instance
    }
}

/// An instance that one remembers, and that is not the one who is there.
fn is_another(known: Instance, there: Instance) -> bool {
    known != [0; 16] && known != there
}

/// What a hello of the other end means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// It is the one that this end knows, or the first.
    Same,
    /// It is another one: what this end had of before is over.
    Another,
    /// It is another one, and what this end has sent over this connection was for the one before: this
    /// end has to forget, and to dial again.
    Gone,
    /// Nothing may go over this connection: it was begun by or for an instance that is no more.
    Void,
}

/// What the instances of a process are drawn from: each has another one.
#[derive(Debug)]
pub(crate) struct Lives {
    process: Instance,
    count: AtomicU64,
}

impl Lives {
    pub(crate) const fn new(process: Instance) -> Self {
        Self { process, count: AtomicU64::new(0) }
    }

    /// Another one each time; the first is that of the process.
    fn next(&self) -> Instance {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        (u128::from_be_bytes(self.process) ^ u128::from(count)).to_be_bytes()
    }
}

/// Who this end of a link is, and who the other one was when they met last.
#[derive(Debug)]
pub(crate) struct Acquaintance {
    lives: Arc<Lives>,
    own: Instance,
    known: Instance,
}

impl Acquaintance {
    /// With nobody yet.
    pub(crate) fn new(lives: Arc<Lives>) -> Self {
        let own = lives.next();
        Self { lives, own, known: [0; 16] }
    }

    /// What this end says first.
    pub(crate) const fn hello(&self) -> Hello {
        Hello { instance: self.own, known: self.known }
    }

    /// This end has forgotten everything, and is another one from now on.
    pub(crate) fn forget(&mut self) {
        (self.own, self.known) = (self.lives.next(), [0; 16]);
    }

    /// The other end has answered this hello, behind which messages went.
    pub(crate) fn on_answer(&mut self, own: Hello, theirs: Hello) -> Met {
        if own.instance != self.own {
            return Met::Void;
        }
        if is_another(self.known, theirs.instance) {
            return Met::Gone;
        }
        if is_another(own.known, theirs.instance) { Met::Void } else { self.meet(theirs) }
    }

    /// The other end has dialled, and was answered with this hello.
    pub(crate) fn on_dialled(&mut self, own: Hello, theirs: Hello) -> Met {
        if own.instance != self.own || is_another(theirs.known, self.own) {
            return Met::Void;
        }
        self.meet(theirs)
    }

    /// Whether this is the end that was met last, and knows this one, or nobody.
    pub(crate) fn is_met(&self, theirs: Hello) -> bool {
        self.known == theirs.instance && !is_another(theirs.known, self.own)
    }

    fn meet(&mut self, theirs: Hello) -> Met {
        let before = std::mem::replace(&mut self.known, theirs.instance);
        if is_another(before, theirs.instance) { Met::Another } else { Met::Same }
    }
}

/// The end that dialled speaks first. `None` when the connection is gone.
pub(crate) async fn say(
    connection: &quinn::Connection,
    own: Hello,
) -> Option<(SendStream, RecvStream)> {
    let (mut send, recv) = connection.open_bi().await.ok()?;
    send.write_all(&[&[STREAM_CONTROL][..], &own.bytes()].concat()).await.ok()?;
    Some((send, recv))
}

/// What the other end answers. `None` when it is no node of ours, or does not accept this key.
pub(crate) async fn answer(recv: &mut RecvStream) -> Option<Hello> {
    let mut bytes = [0; BYTES];
    recv.read_exact(&mut bytes).await.ok()?;
    Hello::parse(&bytes)
}

/// The end that was dialled answers with what it knows by then: the other end's hello, and its own.
pub(crate) async fn accepted(
    connection: &quinn::Connection,
    own: impl FnOnce() -> Hello,
) -> Option<((Hello, Hello), SendStream, RecvStream)> {
    let (mut send, mut recv) = connection.accept_bi().await.ok()?;
    let (mut kind, mut bytes) = ([0; 1], [0; BYTES]);
    recv.read_exact(&mut kind).await.ok()?;
    recv.read_exact(&mut bytes).await.ok()?;
    let theirs = Hello::parse(&bytes).filter(|_| kind == [STREAM_CONTROL])?;
    let own = own();
    send.write_all(&own.bytes()).await.ok()?;
    Some(((own, theirs), send, recv))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_go_on_only_when_each_is_the_one_that_the_other_remembers() {
        let hello = |instance, known| Hello { instance: [instance; 16], known: [known; 16] };
        assert!(hello(1, 2).resumes(hello(2, 1)));
        assert!(!hello(1, 2).resumes(hello(3, 1)));
        assert!(!hello(1, 2).resumes(hello(2, 9)));
        assert!(!hello(1, 0).resumes(hello(2, 0)));
    }

    #[test]
    fn another_version_is_refused() {
        let hello = Hello { instance: [1; 16], known: [0; 16] };
        assert_eq!(Hello::parse(&hello.bytes()), Some(hello));
        let mut other = hello.bytes();
        other[0] = 2;
        assert_eq!(Hello::parse(&other), None);
        assert_eq!(Hello::parse(&[0; BYTES]), None);
    }

    fn end(process: u8) -> Acquaintance {
        Acquaintance::new(Arc::new(Lives::new([process; 16])))
    }

    /// `dials` has dialled, and messages went at once: what each end makes of it.
    fn dial(dials: &mut Acquaintance, dialled: &mut Acquaintance) -> [Met; 2] {
        let (question, answer) = (dials.hello(), dialled.hello());
        let far = dialled.on_dialled(answer, question);
        [dials.on_answer(question, answer), far]
    }

    #[test]
    fn ends_that_met_go_on_whoever_dials() {
        let (mut one, mut two) = (end(1), end(2));
        assert_eq!(dial(&mut one, &mut two), [Met::Same; 2]);
        assert!(one.hello().resumes(two.hello()));
        assert_eq!(dial(&mut two, &mut one), [Met::Same; 2]);
    }

    #[test]
    fn ends_that_dial_at_once_begin_anew_on_neither_connection() {
        let (mut one, mut two) = (end(1), end(2));
        let (first, second) = (one.hello(), two.hello());
        // Both hellos are on their way before either comes.
        let answers = [one.hello(), two.hello()];
        assert_eq!(one.on_dialled(answers[0], second), Met::Same);
        assert_eq!(two.on_dialled(answers[1], first), Met::Same);
        assert_eq!(one.on_answer(first, answers[1]), Met::Same);
        assert_eq!(two.on_answer(second, answers[0]), Met::Same);
    }

    #[test]
    fn what_was_for_a_process_that_is_gone_is_taken_by_no_other_one() {
        let (mut one, mut two) = (end(1), end(2));
        dial(&mut one, &mut two);
        let mut anew = end(3);
        assert_eq!(dial(&mut one, &mut anew), [Met::Gone, Met::Void]);
        one.forget();
        assert_eq!(dial(&mut one, &mut anew), [Met::Same; 2]);
        // A process that dials itself has been sent nothing yet.
        assert_eq!(dial(&mut end(4), &mut one), [Met::Same, Met::Another]);
    }

    #[test]
    fn an_end_that_has_forgotten_is_another_one_to_the_one_that_has_not() {
        let (mut one, mut two) = (end(1), end(2));
        dial(&mut one, &mut two);
        two.forget();
        assert_eq!(dial(&mut one, &mut two), [Met::Gone, Met::Void]);
        one.forget();
        assert_eq!(dial(&mut one, &mut two), [Met::Same; 2]);
        one.forget();
        assert_eq!(dial(&mut one, &mut two), [Met::Same, Met::Another]);
    }

    #[test]
    fn a_connection_of_before_an_end_forgot_is_void() {
        let (mut one, mut two) = (end(1), end(2));
        let (question, answer) = (one.hello(), two.hello());
        one.forget();
        assert_eq!(one.on_answer(question, answer), Met::Void);
        two.forget();
        assert_eq!(two.on_dialled(answer, question), Met::Void);
    }

    #[test]
    fn messages_that_went_to_two_processes_in_turn_are_forgotten() {
        // It was met over another connection while this one was under way, and is gone since.
        let (mut one, mut two, mut anew) = (end(1), end(2), end(3));
        let (question, answer) = (one.hello(), anew.hello());
        dial(&mut two, &mut one);
        assert_eq!(anew.on_dialled(answer, question), Met::Same);
        assert_eq!(one.on_answer(question, answer), Met::Gone);
        one.forget();
        assert_eq!(dial(&mut one, &mut anew), [Met::Same, Met::Another]);
    }
}
