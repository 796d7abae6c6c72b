//! Messages over a QUIC connection: a stream for each reliable one, datagrams for the others.

use std::{sync::Arc, time::Duration};

use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::{sync::Notify, time::sleep};

use super::{
    head::{Body, HEAD_MAX, Head, PARTS_MAX},
    inbox::{Inbox, Taken},
    outbox::{Job, Outbox, PART_SIZE},
    parts::Parts,
};
use crate::{
    clock::Clock,
    kind::{DATAGRAM_MESSAGE, STREAM_MESSAGE},
    lock::Locked,
};

/// The sender has given the message up.
const GIVEN_UP: VarInt = VarInt::from_u32(1);
/// The receiver has no room for it now.
const NO_ROOM: VarInt = VarInt::from_u32(2);
/// How long to wait before a message that found no room is sent again.
const ROOM_RETRY: Duration = Duration::from_millis(200);
/// Messages that the application may leave unfetched before no more are acknowledged.
const UNFETCHED_MAX: usize = 1024;
/// Where more than this share of packets is lost, a short message goes as datagrams, too; and once more
/// where more than the second share is lost. At 15 % each way a request of 256 bytes and its answer of 2,048
/// then wait for no timeout in 98 of 100 cases; with one copy in 87, without one in 61.
const HEDGE_LOSSES: [f64; 2] = [0.03, 0.1];
/// Fewer lost packets say nothing of the path. A link that carries only requests sends few packets, so
/// that a share of many would come too late.
const HEDGE_LOST: u64 = 2;
/// Before so many packets were sent nothing is known, and there is one copy all the same where a message that
/// is sent again takes so long that a person waits for it.
const HEDGE_UNKNOWN: u64 = 50;
const HEDGE_ROUND_TRIP: Duration = Duration::from_millis(100);
/// Each copy goes so much later: losses of a radio come in bursts.
const HEDGE_DELAY: Duration = Duration::from_millis(10);
/// Messages of more packets have no copies.
const HEDGE_PARTS: usize = 3;

/// Both directions of a link's messages.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) clock: Clock,
    pub(crate) outbox: Locked<Outbox>,
    pub(crate) inbox: Locked<Inbox>,
    parts: Locked<Parts>,
    /// There is something to send, or something was given up.
    pub(crate) outgoing: Notify,
    withdrawn: Notify,
    pub(crate) incoming: Notify,
    pub(crate) fetched: Notify,
}

impl Mail {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            clock,
            outbox: Locked::default(),
            inbox: Locked::default(),
            parts: Locked::default(),
            outgoing: Notify::new(),
            withdrawn: Notify::new(),
            incoming: Notify::new(),
            fetched: Notify::new(),
        })
    }

    /// Something was cancelled, replaced or has expired.
    pub(crate) fn on_withdrawn(&self) {
        self.withdrawn.notify_waiters();
        self.outgoing.notify_one();
    }

    fn take(&self, head: Head, bytes: Vec<u8>) -> Taken {
        let taken = self.inbox.with(|inbox| inbox.on_message(head, bytes));
        self.incoming.notify_waiters();
        taken
    }
}

/// Sends messages over this connection until it is closed, or another one has its turn.
pub(crate) async fn send(mail: Arc<Mail>, connection: Connection, turn: u64) {
    let closed = connection.closed();
    tokio::pin!(closed);
    loop {
        let next = mail.clock.now();
        let polled = mail.outbox.with(|outbox| {
            outbox.expire(next);
            outbox.is_turn(turn).then(|| (outbox.poll(), outbox.next_timeout()))
        });
        let Some((job, timeout)) = polled else {
            // What it was woken for is for the other one.
            return mail.outgoing.notify_one();
        };
        for (class, tag) in mail.parts.with(|parts| parts.expire(next)) {
            mail.inbox.with(|inbox| inbox.on_incomplete(class, tag));
        }
        if let Some(job) = job {
            if job.head.class.is_reliable() {
                tokio::spawn(carry(mail.clone(), connection.clone(), job));
            } else {
                send_parts(&connection, &job, true).await;
            }
            continue;
        }
        // Without a deadline the only thing that time does is to drop incomplete messages.
        let pause = timeout.map_or(Duration::from_secs(1), |at| at.since(mail.clock.now()));
        tokio::select! {
            _ = &mut closed => break,
            () = mail.outgoing.notified() => {}
            () = sleep(pause) => {
                mail.outbox.with(|outbox| outbox.expire(mail.clock.now()));
                mail.withdrawn.notify_waiters();
            }
        }
    }
}

/// One reliable message, until it is acknowledged, given up, or the connection is gone.
async fn carry(mail: Arc<Mail>, connection: Connection, job: Job) {
    let number = job.head.number;
    let Ok((mut send, mut recv)) = connection.open_bi().await else {
        return unsaid(&mail, job.head);
    };
    let path = connection.stats().path;
    let copies = copies(&job, (path.lost_packets, path.sent_packets), path.rtt);
    if copies > 0 {
        tokio::spawn(repeat(mail.clone(), connection.clone(), job.clone(), copies));
    }
    let is_wanted = || job.head.given_up || mail.outbox.with(|outbox| outbox.is_wanted(number));
    let carried = {
        let written = write(&mut send, &mut recv, &job);
        tokio::pin!(written);
        loop {
            let withdrawn = mail.withdrawn.notified();
            if !is_wanted() {
                break None;
            }
            tokio::select! {
                carried = &mut written => break Some(carried),
                () = withdrawn => {}
            }
        }
    };
    match carried {
        None => {
            // The other end drops what it has of it.
            let _ = send.reset(GIVEN_UP);
        }
        Some(Ok(true)) => {
            mail.outbox.with(|outbox| outbox.on_acknowledged(number));
            mail.outgoing.notify_one();
        }
        Some(Ok(false)) => {
            sleep(ROOM_RETRY).await;
            mail.outbox.with(|outbox| outbox.on_refused(number));
            unsaid(&mail, job.head);
            mail.outgoing.notify_one();
        }
        Some(Err(())) => unsaid(&mail, job.head),
    }
}

fn unsaid(mail: &Mail, head: Head) {
    if head.given_up {
        mail.outbox.with(|outbox| outbox.on_unsaid(head));
    }
}

/// True when it was acknowledged, false when there was no room for it.
async fn write(send: &mut SendStream, recv: &mut RecvStream, job: &Job) -> Result<bool, ()> {
    let _ = send.set_priority(i32::from(job.priority));
    let mut head = vec![STREAM_MESSAGE];
    job.head.write(Body::Whole(job.bytes.len()), &mut head);
    send.write_all(&head).await.map_err(drop)?;
    send.write_all(&job.bytes).await.map_err(drop)?;
    send.finish().map_err(drop)?;
    match recv.read(&mut [0]).await {
        Ok(None) => Ok(true),
        Err(quinn::ReadError::Reset(NO_ROOM)) => Ok(false),
        _ => Err(()),
    }
}

/// How many copies of a message follow, by the packets that this path has lost and sent.
fn copies(job: &Job, (lost, sent): (u64, u64), round_trip: Duration) -> usize {
    if job.head.given_up || job.bytes.len() > HEDGE_PARTS * PART_SIZE {
        return 0;
    }
    let waits = round_trip >= HEDGE_ROUND_TRIP;
    let unknown = usize::from(waits && sent < HEDGE_UNKNOWN);
    if lost < HEDGE_LOST {
        return unknown;
    }
    let known = HEDGE_LOSSES.iter().filter(|share| lost as f64 > **share * sent as f64).count();
    known.max(unknown)
}

async fn repeat(mail: Arc<Mail>, connection: Connection, job: Job, copies: usize) {
    for _ in 0..copies {
        sleep(HEDGE_DELAY).await;
        if !mail.outbox.with(|outbox| outbox.is_wanted(job.head.number)) {
            return;
        }
        send_parts(&connection, &job, false).await;
    }
}

/// A message as datagrams; `wait`: until there is room for them.
async fn send_parts(connection: &Connection, job: &Job, wait: bool) {
    let Some(max) = connection.max_datagram_size() else { return };
    let size = max.saturating_sub(HEAD_MAX + 2).clamp(1, PART_SIZE);
    for part in parts(job, size) {
        let datagram = [&[DATAGRAM_MESSAGE][..], &part].concat().into();
        // Unreliable: what is not taken is lost.
        let _ = match wait {
            true => connection.send_datagram_wait(datagram).await,
            false => connection.send_datagram(datagram),
        };
    }
}

/// A message in parts with at most so many bytes of it; none when these would be too many.
pub(crate) fn parts(job: &Job, size: usize) -> impl Iterator<Item = Vec<u8>> {
    let count = u8::try_from(job.bytes.len().div_ceil(size).max(1)).unwrap_or(0);
    let count = if usize::from(count) > PARTS_MAX { 0 } else { count };
    (0..count).map(move |part| {
        let start = usize::from(part) * size;
        let mut bytes = Vec::new();
        job.head.write(Body::Part(part, count), &mut bytes);
        bytes.extend_from_slice(&job.bytes[start..job.bytes.len().min(start + size)]);
        bytes
    })
}

/// A datagram with a part of a message came.
pub(crate) fn on_datagram(mail: &Mail, round_trip: Duration, mut datagram: &[u8]) {
    let Some((head, Body::Part(part, parts))) = Head::take(&mut datagram) else { return };
    if mail.inbox.with(|inbox| inbox.has(head.number) || inbox.waiting() >= UNFETCHED_MAX) {
        return;
    }
    let at = (mail.clock.now(), round_trip);
    let whole = mail.parts.with(|all| all.on_part(at, head, (part, parts), datagram));
    if let Some(bytes) = whole {
        mail.take(head, bytes);
    }
}

/// A stream with a message was opened; its first byte has been read.
pub(crate) async fn on_stream(mail: &Mail, mut send: SendStream, mut recv: RecvStream) {
    let Some((head, bytes)) = read(&mut recv).await else {
        // The sender has given it up, or it is malformed: it gets no acknowledgement.
        let _ = send.reset(GIVEN_UP);
        return;
    };
    while mail.inbox.with(|inbox| inbox.waiting()) >= UNFETCHED_MAX {
        tokio::select! {
            () = mail.fetched.notified() => {}
            () = sleep(ROOM_RETRY) => {}
        }
    }
    match mail.take(head, bytes) {
        Taken::Done => {
            let _ = send.finish();
        }
        Taken::Full => {
            let _ = send.reset(NO_ROOM);
        }
    }
}

async fn read(recv: &mut RecvStream) -> Option<(Head, Vec<u8>)> {
    let mut bytes = Vec::new();
    let (head, len) = loop {
        let mut rest = bytes.as_slice();
        if let Some((head, body)) = Head::take(&mut rest) {
            let Body::Whole(len) = body else { return None };
            bytes = rest.to_vec();
            break (head, len);
        }
        if bytes.len() > HEAD_MAX {
            return None;
        }
        let chunk = recv.read_chunk(HEAD_MAX, true).await.ok()??;
        bytes.extend_from_slice(&chunk.bytes);
    };
    // Memory grows with what has come, not with what was promised.
    while let Ok(Some(chunk)) = recv.read_chunk(64 << 10, true).await {
        bytes.extend_from_slice(&chunk.bytes);
        if bytes.len() > len {
            return None;
        }
    }
    (bytes.len() == len).then_some((head, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Class;

    fn job(bytes: usize) -> Job {
        let class = Class::ReliableUnsequenced;
        let head = Head { class, replace: false, given_up: false, number: 1, sequence: 0, tag: 0 };
        Job { head, priority: 0, bytes: vec![0; bytes].into() }
    }

    #[test]
    fn the_more_a_path_loses_the_more_copies_follow_a_short_message() {
        let copies = |lost, sent| copies(&job(256), (lost, sent), Duration::from_millis(20));
        assert_eq!([copies(0, 10), copies(1, 10)], [0, 0], "too few to say");
        assert_eq!([copies(2, 100), copies(5, 100), copies(15, 100)], [0, 1, 2]);
        assert_eq!(copies(2, 15), 2, "a link that carries requests only learns it soon");
    }

    #[test]
    fn a_long_message_and_one_that_was_given_up_have_no_copies() {
        let long = job(HEDGE_PARTS * PART_SIZE + 1);
        let mut given_up = job(1);
        given_up.head.given_up = true;
        let copies = |job| copies(job, (15, 100), Duration::from_secs(1));
        assert_eq!([copies(&long), copies(&given_up)], [0, 0]);
    }

    #[test]
    fn before_a_long_path_is_known_a_short_message_has_a_copy() {
        let copies = |sent, ms| copies(&job(256), (0, sent), Duration::from_millis(ms));
        assert_eq!([copies(49, 500), copies(50, 500), copies(49, 20)], [1, 0, 0]);
    }
}
