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
/// Where more than this share of packets is lost, short messages go twice.
const HEDGE_LOSS: f64 = 0.03;
/// Packets by which that share is judged.
const HEDGE_PACKETS: u64 = 50;
/// The second copy goes so much later: losses of a radio come in bursts.
const HEDGE_DELAY: Duration = Duration::from_millis(10);
/// Messages of more packets are not sent twice.
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

/// Sends messages over this connection until it is closed.
pub(crate) async fn send(mail: Arc<Mail>, connection: Connection) {
    let closed = connection.closed();
    tokio::pin!(closed);
    loop {
        let next = mail.clock.now();
        let (job, timeout) = mail.outbox.with(|outbox| {
            outbox.expire(next);
            (outbox.poll(), outbox.next_timeout())
        });
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
    if hedges(&connection, &job) {
        tokio::spawn(repeat(mail.clone(), connection.clone(), job.clone()));
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

fn hedges(connection: &Connection, job: &Job) -> bool {
    let path = connection.stats().path;
    let lossy = path.lost_packets as f64 > HEDGE_LOSS * path.sent_packets as f64;
    let known = path.sent_packets >= HEDGE_PACKETS;
    lossy && known && !job.head.given_up && job.bytes.len() <= HEDGE_PARTS * PART_SIZE
}

async fn repeat(mail: Arc<Mail>, connection: Connection, job: Job) {
    sleep(HEDGE_DELAY).await;
    if mail.outbox.with(|outbox| outbox.is_wanted(job.head.number)) {
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
