//! Which way a connection goes, and asking the far side for it.

use std::{
    net::SocketAddr,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use crate::Attached;
use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::TcpStream,
    time::timeout,
};

use super::{
    Carrier, Fallback, Near, Optimism,
    front::{FromClient, Style},
};
use crate::proxy::{
    code::Code,
    connect::{self, Failure},
    destination::Destination,
    event::Event,
    frame::{Open, Reply},
    mux::control::FIRST_MAX,
    norp::Norp,
    peering::Peering,
    pipe::{Reader, Writer, read_frame, write_frame},
    relay::{How, LimitedStream, Traffic, Upward, drain, relay},
    route::Via,
};

/// With `--fallback direct` a connection waits for its link so long at most.
const FALLBACK_AFTER: Duration = Duration::from_millis(1500);
/// The far side has its own limit; this is beside it, for the way there and back.
const WAY: Duration = Duration::from_secs(5);

/// Who has been told that it is connected, or asks nobody, says something within this time, if it is the
/// one that speaks first: a busy machine needs some milliseconds.
const FIRST: Duration = Duration::from_millis(20);
/// Over a long road as much as this part of a round trip: who misses it loses all of one.
const FIRST_PART: u32 = 8;
const FIRST_MOST: Duration = Duration::from_millis(100);

/// The other end of a connection.
enum There {
    Linked(Writer, Reader),
    Direct(TcpStream),
}

/// A connection that was asked for.
struct Found {
    there: There,
    bound: Option<SocketAddr>,
    /// So many of the first bytes went with the request.
    gone: usize,
}

impl Found {
    const fn new(there: There, bound: Option<SocketAddr>) -> Self {
        Self { there, bound, gone: 0 }
    }
}

/// What a client says at once: it may go with the request, which saves a round trip.
async fn hear_first(tcp: &mut TcpStream, first: &mut Vec<u8>, round_trip: Duration) {
    if first.is_empty() {
        first.reserve(FIRST_MAX);
        let patience = (round_trip / FIRST_PART).clamp(FIRST, FIRST_MOST);
        // Whoever waits for the other end to speak says nothing.
        let _ = timeout(patience, tcp.read_buf(first)).await;
    }
}

/// Bytes both ways, until both have ended; `reply`: what the client is told first.
async fn carry(
    mut tcp: TcpStream,
    mut upward: Upward<'_>,
    there: There,
    reply: &[u8],
    traffic: &Traffic,
) -> How {
    if tcp.write_all(reply).await.is_err() {
        if let There::Linked(mut writer, mut reader) = there {
            writer.reset();
            reader.stop();
        }
        return How::Reset;
    }
    match there {
        There::Linked(writer, reader) => relay(tcp, upward, (writer, reader), traffic).await,
        There::Direct(mut far) => {
            let first = upward.first;
            let copied = async {
                far.write_all(first).await?;
                let mut near = LimitedStream { tcp: &mut tcp, upward: &mut upward };
                copy_bidirectional(&mut near, &mut far).await
            };
            match copied.await {
                Ok((up, down)) => {
                    traffic.up.store(up + first.len() as u64, Ordering::Relaxed);
                    traffic.down.store(down, Ordering::Relaxed);
                    if upward.is_limited() {
                        drain(&mut tcp).await;
                    }
                    How::Closed
                }
                Err(_) => {
                    for stream in [&tcp, &far] {
                        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
                    }
                    How::Reset
                }
            }
        }
    }
}

impl Near {
    pub(super) async fn connect(
        self: Arc<Self>,
        mut tcp: TcpStream,
        client: SocketAddr,
        to: Destination,
        said: FromClient,
        style: Style,
    ) {
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let (since, listener) = (Instant::now(), &self.options.listener);
        let FromClient { mut first, body, is_passed } = said;
        let via = self.options.routes.of(&to).clone();
        // A plain request is here already, and hears nothing before its answer.
        let early = style != Style::HttpRequest && self.is_early(&via, &to);
        if early && tcp.write_all(&style.reply(Code::Done, None)).await.is_err() {
            return;
        }
        let (peer, carrier) = match &via {
            Via::Peer(peer) if self.norp(peer).is_some() => (Some(peer.clone()), "norp"),
            Via::Peer(peer) => (Some(peer.clone()), self.options.carrier.name()),
            _ => (None, "direct"),
        };
        let (client, destination) = (client.to_string(), to.clone());
        listener.tell(Event::Open { id, client, destination, peer, carrier });
        let is_linked = carrier == self.options.carrier.name();
        if is_linked && (early || style == Style::Silent) {
            hear_first(&mut tcp, &mut first, self.round_trip(&via)).await;
        }
        let asked = self.ask(id, &via, &to, &first).await;
        self.learn(&via, to, asked.is_ok());
        let (code, reason) = match &asked {
            Ok(_) => (Code::Done, None),
            Err(failure) => {
                (failure.code, failure.refusal.map(crate::proxy::policy::Refusal::name))
            }
        };
        listener.tell(Event::Reply { id, code, reason });
        let Found { there, bound, gone } = match asked {
            Ok(found) => found,
            Err(_) if early || style == Style::Silent => {
                // All that can be said now.
                let _ = SockRef::from(&tcp).set_linger(Some(Duration::ZERO));
                return;
            }
            Err(failure) => return self.turn_down(&mut tcp, style, failure.code).await,
        };
        let traffic = Traffic::default();
        traffic.up.store(gone as u64, Ordering::Relaxed);
        let reply = if early { Vec::new() } else { style.reply(Code::Done, bound) };
        let how =
            carry(tcp, Upward::new(&first[gone..], body, is_passed), there, &reply, &traffic).await;
        listener.tell(Event::Close {
            id,
            bytes_up: traffic.up.load(Ordering::Relaxed),
            bytes_down: traffic.down.load(Ordering::Relaxed),
            seconds: since.elapsed().as_secs_f64(),
            how,
        });
    }

    /// Of the link to a peer that answers; no time without one.
    fn round_trip(&self, via: &Via) -> Duration {
        let Via::Peer(name) = via else { return Duration::ZERO };
        let status = self.peer(name).map(|peering| peering.link.status());
        let status = status.filter(|status| status.connected && !status.quiet);
        status.map_or(Duration::ZERO, |status| status.round_trip)
    }

    /// Whether a client is told that it is connected before the far side has answered.
    fn is_early(&self, via: &Via, to: &Destination) -> bool {
        match (self.options.optimism, via) {
            (Optimism::Always, _) => true,
            (Optimism::Known, Via::Peer(name)) => {
                let round_trip = self.round_trip(via);
                let long = !round_trip.is_zero() && round_trip >= self.options.long_road;
                let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
                long && known().is_likely(Instant::now(), &(name.clone(), to.clone()))
            }
            _ => false,
        }
    }

    /// A destination has taken a connection, or has not.
    fn learn(&self, via: &Via, to: Destination, taken: bool) {
        let Via::Peer(name) = via else { return };
        let key = (name.clone(), to);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match taken {
            true => known.on_taken(Instant::now(), key),
            false => known.on_refused(&key),
        }
    }

    async fn ask(
        &self,
        id: u64,
        via: &Via,
        to: &Destination,
        first: &[u8],
    ) -> Result<Found, Failure> {
        match via {
            Via::Refuse => Err(Code::Refused.into()),
            Via::Direct => self.directly(to).await,
            Via::Peer(name) => {
                if let Some((norp, peer)) = self.norp(name) {
                    return self.by_norp(id, (&norp, name, peer), to).await;
                }
                let peering = self.peer(name).ok_or(Code::General)?;
                let falls_back = self.options.fallback == Fallback::Direct;
                let wait = match falls_back {
                    true => FALLBACK_AFTER.min(self.options.wait_link),
                    false => self.options.wait_link,
                };
                let linked = self.linked(&peering, wait).await;
                match linked {
                    None if falls_back => {
                        let peer = name.clone();
                        self.options.listener.tell(Event::Fallback { id, peer });
                        self.directly(to).await
                    }
                    None => Err(Code::General.into()),
                    Some(attached) => match self.options.carrier {
                        Carrier::Quic => self.by_quic(&peering, &attached, to, first).await,
                        Carrier::Norm => self.by_norm(&peering, to, first).await,
                    },
                }
            }
        }
    }

    /// The link's connection, or the one that comes within this time; unless too many wait for it.
    async fn linked(&self, peering: &Peering, wait: Duration) -> Option<Attached> {
        let now = peering.link.connections().borrow().clone();
        if now.is_some() {
            return now;
        }
        let _place = self.waiting.take()?;
        peering.link.connected(wait).await
    }

    /// By NRL's norp, which has no link to be waited for.
    async fn by_norp(
        &self,
        id: u64,
        (norp, name, peer): (&Arc<Norp>, &str, SocketAddr),
        to: &Destination,
    ) -> Result<Found, Failure> {
        let falls_back = self.options.fallback == Fallback::Direct;
        let patience = self.options.connect_timeout + WAY;
        let heard = if falls_back { FALLBACK_AFTER } else { patience };
        match norp.ask(peer, to, (heard, patience)).await {
            Ok((writer, reader)) => {
                Ok(Found::new(There::Linked(Writer::Norp(writer), Reader::Norp(reader)), None))
            }
            Err(None) if falls_back => {
                self.options.listener.tell(Event::Fallback { id, peer: name.to_owned() });
                self.directly(to).await
            }
            Err(code) => Err(code.unwrap_or(Code::TimedOut).into()),
        }
    }

    async fn directly(&self, to: &Destination) -> Result<Found, Failure> {
        let patience = self.options.connect_timeout;
        let tcp = connect::connect(to, Some(&self.direct), &self.resolver, patience).await?;
        let bound = tcp.local_addr().ok();
        Ok(Found::new(There::Direct(tcp), bound))
    }

    async fn by_norm(
        &self,
        peering: &Peering,
        to: &Destination,
        first: &[u8],
    ) -> Result<Found, Failure> {
        let frame = |credit| Open::connection(&self.options.own, to).with_credit(credit).to_bytes();
        let gone = first.len().min(FIRST_MAX);
        let asked = peering.norm.open(frame, &first[..gone]);
        let asked = timeout(self.options.connect_timeout + WAY, asked);
        let answered = asked.await.map_err(|_| Code::TimedOut)?;
        let (handle, frame) = answered.ok_or(Code::General)?;
        let reply = Reply::parse(&frame).ok_or(Code::General)?;
        match reply.code() {
            Code::Done => {
                handle.on_first_credit(reply.credit);
                let there = There::Linked(Writer::Norm(handle.clone()), Reader::Norm(handle));
                Ok(Found { there, bound: reply.bound(), gone })
            }
            code => Err(code.into()),
        }
    }

    async fn by_quic(
        &self,
        peering: &Peering,
        attached: &Attached,
        to: &Destination,
        first: &[u8],
    ) -> Result<Found, Failure> {
        let asked = async {
            let (mut send, mut recv) =
                peering.link.open(attached).await.map_err(|_| Code::General)?;
            let open = Open::connection(&self.options.own, to).to_bytes();
            write_frame(&mut send, &open).await.map_err(|_| Code::General)?;
            send.write_all(first).await.map_err(|_| Code::General)?;
            let frame = read_frame(&mut recv).await.map_err(|_| Code::General)?;
            let reply = Reply::parse(&frame).ok_or(Code::General)?;
            match reply.code() {
                Code::Done => {
                    let there = There::Linked(Writer::Quic(send), Reader::Quic(recv));
                    Ok(Found { there, bound: reply.bound(), gone: first.len() })
                }
                code => Err(code),
            }
        };
        let answered = timeout(self.options.connect_timeout + WAY, asked).await;
        answered.unwrap_or(Err(Code::TimedOut)).map_err(Failure::from)
    }
}
