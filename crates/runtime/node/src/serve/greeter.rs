//! Answers to the calls of senders, by the socket that was called and by the one that is to be sent to.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_wire::units::time::Time;

use crate::serve::{
    door::SocketDoor,
    ear::{AdmittedPath, Called, Ear, JoinedSession, SenderIdentity},
    message::{ALL_HOSTS, Message, NO_HOST},
};

/// Answers to calls that wait to be sent; a lost one is asked for again by the next call.
const REPLIES_MAX: usize = 64;

/// A message of a member's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberReply {
    /// Address that it goes to.
    pub to: SocketAddr,
    /// Content of the message.
    pub bytes: Vec<u8>,
    /// It goes out by the socket of the machine, where it can.
    pub by_machine: bool,
}

/// Answers calls of the session that it has joined.
#[derive(Debug)]
pub struct CallGreeter {
    pub(crate) ear: Ear,
    replies: VecDeque<MemberReply>,
    /// The port that it speaks from; 0 while that is not known.
    port: u16,
    dropped: u64,
}

impl CallGreeter {
    /// Answers for a receiver that has `joined` so.
    #[must_use]
    pub fn new(joined: JoinedSession) -> Self {
        Self { ear: Ear::new(joined), replies: VecDeque::new(), port: 0, dropped: 0 }
    }

    /// The port that it speaks from, for those that hear another.
    pub fn set_port(&mut self, port: u16) {
        self.port = port;
    }

    /// A datagram came. Whether it was one of a sender that calls, or shows that it has heard the answer.
    /// `nonce`: chance.
    pub fn on_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        door: SocketDoor,
        datagram: &[u8],
        nonce: u64,
    ) -> bool {
        let Some((id, message)) = Message::parse(datagram) else { return false };
        self.on_message(now, SenderIdentity { address: from, id }, door, &message, nonce)
    }

    pub(crate) fn on_message(
        &mut self,
        now: Time,
        speaker: SenderIdentity,
        door: SocketDoor,
        message: &Message,
        nonce: u64,
    ) -> bool {
        match *message {
            Message::Call { .. } if door == SocketDoor::Group => self.ear.on_group(speaker),
            Message::Push { called, session } => {
                self.ear.on_push(now, speaker, session, door, called);
            }
            Message::Call { messages, host, called, session } => {
                let call = Called { messages, host, port: called };
                if let Some(answer) = self.ear.on_call(now, speaker, session, call, nonce) {
                    // Firewalls there let in what comes from the port that was called, those here what
                    // is sent to the port that was spoken from.
                    if let (SocketDoor::Machine, &Message::Here { nonce, cookie, host, .. }, 1..) =
                        (door, &answer, self.port)
                    {
                        let port = self.port;
                        self.reply(speaker, Message::Here { nonce, cookie, host, port }, true);
                    }
                    let knocks = host == ALL_HOSTS && self.ear.is_unheard(speaker);
                    let nonce = answer.nonce();
                    self.reply(speaker, answer, false);
                    if let Some(nonce) = nonce.filter(|_| knocks) {
                        let address = SocketAddr::new(speaker.address.ip(), called);
                        let knock = Message::Knock { nonce, session };
                        self.reply(SenderIdentity { address, ..speaker }, knock, false);
                    }
                }
            }
            Message::Cookie { host: NO_HOST, nonce, cookie } if door != SocketDoor::Group => {
                if let Some(answer) = self.ear.on_cookie(now, speaker, door, nonce, cookie) {
                    self.reply(speaker, answer, door == SocketDoor::Machine);
                }
            }
            _ => return false,
        }
        true
    }

    fn reply(&mut self, to: SenderIdentity, answer: Message, by_machine: bool) {
        if self.replies.len() < REPLIES_MAX {
            let bytes = answer.encode(to.id);
            self.replies.push_back(MemberReply { to: to.address, bytes, by_machine });
        } else {
            self.dropped += 1;
        }
    }

    /// The next answer.
    pub fn poll_reply(&mut self) -> Option<MemberReply> {
        self.replies.pop_front()
    }

    /// The next sender that is to be answered by this door from now on, feedback and all.
    pub fn poll_door(&mut self) -> Option<AdmittedPath> {
        self.ear.poll_door()
    }

    /// Answers that there was no room for.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
