//! What a node has for one of its clients, and the thread that writes it. A client that reads slowly holds
//! up nobody but itself: messages for it wait where they are kept.

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
    net::Shutdown,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel},
    },
};

use fanfare_udp::os::local::UnixStream;

use crate::json::{Dropped, Line, StreamLine, message_line};
use fanfare_node::group::{Gap, Message};

use super::request::{INLINE_MAX, MESSAGE_MAX};

/// Answers that wait; while there are so many, no more requests are read.
const ANSWERS_MAX: usize = 64;

/// Something for a client.
enum Letter {
    Answer(String),
    Message(Delivery),
    /// With the name of its group.
    Gap(Option<String>, Gap),
    /// Members have changed.
    Members,
}

/// The last that is to be said of each member: whether it is there, and whether it hears. What came before that
/// need not be told to who was slow. There are as many as members, twice.
type Changes = Arc<Mutex<BTreeMap<Member, [Option<String>; 2]>>>;
/// A member, by the place of its group and its id.
type Member = (usize, u32);

/// A message, as a client wants it.
pub(super) struct Delivery {
    /// Of its group, where there are several.
    pub(super) within: Option<String>,
    /// Long content is to follow its line.
    pub(super) raw: bool,
    pub(super) message: Box<Message>,
}

/// Where it is put. How many messages there are at once, the gates of the subscriptions say.
#[derive(Debug, Clone)]
pub(super) struct Mailbox {
    letters: Sender<Letter>,
    answers: SyncSender<()>,
    members: Changes,
}

/// Where it is taken out.
pub(super) struct Letters {
    letters: Receiver<Letter>,
    answered: Receiver<()>,
    members: Changes,
}

pub(super) fn mailbox() -> (Mailbox, Letters) {
    let ((letters, to_write), (answers, answered)) = (channel(), sync_channel(ANSWERS_MAX));
    let members = Changes::default();
    let taken_out = Letters { letters: to_write, answered, members: members.clone() };
    (Mailbox { letters, answers, members }, taken_out)
}

impl Mailbox {
    /// Waits until there is room for one more answer. False when the client has gone.
    pub(super) fn reserve(&self) -> bool {
        self.answers.send(()).is_ok()
    }

    /// The answer for which room was reserved.
    pub(super) fn answer(&self, line: String) {
        // Who has gone needs none; its thread sees the end.
        let _ = self.letters.send(Letter::Answer(line));
    }

    pub(super) fn deliver(&self, delivery: Delivery) {
        let _ = self.letters.send(Letter::Message(delivery));
    }

    pub(super) fn tell_gap(&self, within: Option<String>, gap: Gap) {
        let _ = self.letters.send(Letter::Gap(within, gap));
    }

    /// What is new of a member, in the place of what of it still waits: that it is there or not, or whether it
    /// hears.
    pub(super) fn tell_member(&self, member: Member, is_presence: bool, line: String) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        if members.is_empty() {
            let _ = self.letters.send(Letter::Members);
        }
        let [presence, hearing] = members.entry(member).or_default();
        match is_presence {
            true => (*presence, *hearing) = (Some(line), None),
            false => *hearing = Some(line),
        }
    }

    /// Whether both are of one client.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.members, &other.members)
    }
}

impl Letters {
    /// Writes all that comes, until the client has gone or there will be no more.
    pub(super) fn write_to(self, stream: &UnixStream) {
        // Who is not read any more is not heard any more.
        if self.write_all(&mut BufWriter::new(stream)).is_err() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn write_all(&self, out: &mut dyn Write) -> io::Result<()> {
        loop {
            let letter = match self.letters.try_recv() {
                Ok(letter) => letter,
                Err(TryRecvError::Disconnected) => return out.flush(),
                Err(TryRecvError::Empty) => {
                    out.flush()?;
                    let Ok(letter) = self.letters.recv() else { return Ok(()) };
                    letter
                }
            };
            self.write(letter, out)?;
        }
    }

    fn write(&self, letter: Letter, out: &mut dyn Write) -> io::Result<()> {
        match letter {
            Letter::Answer(line) => {
                // It has its room as long as it is not written.
                let _ = self.answered.try_recv();
                writeln!(out, "{line}")
            }
            Letter::Message(delivery) => write_message(&delivery, out),
            Letter::Gap(within, gap) => {
                let (subscription, messages) = (gap.subscription.0, gap.messages);
                let line = Line::Dropped(Dropped { subscription, messages });
                writeln!(out, "{}", text(within.as_deref(), &line))
            }
            Letter::Members => {
                let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
                let members = std::mem::take(&mut *members);
                let mut lines = members.values().flatten().flatten();
                lines.try_for_each(|line| writeln!(out, "{line}"))
            }
        }
    }
}

fn write_message(delivery: &Delivery, out: &mut dyn Write) -> io::Result<()> {
    let Delivery { within, raw, message } = delivery;
    let follows = *raw && message.body.len() > INLINE_MAX;
    let shown_max = if follows { 0 } else { MESSAGE_MAX };
    let mut line = message_line(message, shown_max, None);
    line.bytes = follows.then_some(message.body.len());
    writeln!(out, "{}", text(within.as_deref(), &Line::Message(line)))?;
    if follows { message.body.copy_to(out) } else { Ok(()) }
}

/// A line about a group, with its name where it has one.
pub(super) fn text(within: Option<&str>, line: &Line) -> String {
    match within {
        Some(name) => StreamLine::within(line, name).to_text(),
        None => line.to_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_without_reading_is_not_heard_until_it_reads() {
        let (mailbox, letters) = mailbox();
        let asking = std::thread::spawn(move || {
            let answered = (0..500).take_while(|_| mailbox.reserve());
            answered.map(|number| mailbox.answer(number.to_string())).count()
        });
        // Only so many have room before the first is written.
        let mut out = Vec::new();
        letters.write_all(&mut out).unwrap();
        assert_eq!(asking.join().unwrap(), 500);
        let lines = String::from_utf8(out).unwrap();
        assert!(lines.lines().enumerate().all(|(number, line)| line == number.to_string()));
    }

    #[test]
    fn who_is_slow_is_told_the_last_of_each_member() {
        let (mailbox, letters) = mailbox();
        for round in 0..1000 {
            for id in 0..3 {
                mailbox.tell_member((0, id), true, format!("{id} is there in {round}"));
                if id < 2 {
                    mailbox.tell_member((0, id), false, format!("{id} hears in {round}"));
                }
            }
        }
        mailbox.tell_member((0, 1), true, "1 has left".to_owned());
        drop(mailbox);
        let mut out = Vec::new();
        letters.write_all(&mut out).unwrap();
        assert_eq!(out, b"0 is there in 999\n0 hears in 999\n1 has left\n2 is there in 999\n");
    }

    #[test]
    fn a_client_that_has_gone_ends_who_answers_it() {
        let (mailbox, letters) = mailbox();
        drop(letters);
        assert!(!mailbox.reserve());
    }
}
