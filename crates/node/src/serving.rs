//! Receivers that pass on to each other: where their machine meets the sockets and the engine.

use std::{io, net::IpAddr};

use fanfare_proto::{RecvMeta, Time};
use fanfare_serve::{Member, Settings, Way};
use fanfare_udp::Endpoint;

use crate::{chance::random, engine::Engine, sealed::Sealed};

/// Runs that are passed on before looking at what arrived.
const PASSES_PER_TURN: usize = 64;

/// A receiver's part, if it has one.
#[derive(Debug)]
pub(crate) struct Serving {
    member: Option<Member<RecvMeta>>,
    /// Something waits to be passed on, and the socket takes nothing now.
    full: bool,
}

impl Serving {
    pub(crate) fn new(settings: Option<Settings>) -> Self {
        let member = settings.map(|settings| {
            let mut secret = [0; 32];
            for part in secret.chunks_exact_mut(8) {
                part.copy_from_slice(&random().to_ne_bytes());
            }
            Member::new(settings, secret, random())
        });
        Self { member, full: false }
    }

    /// A run came: whether it was one for this, or will come out in order.
    pub(crate) fn take<E: Engine>(
        &mut self,
        now: Time,
        meta: RecvMeta,
        run: (&[u8], usize),
        engine: &mut E,
    ) -> bool {
        let Some(member) = &mut self.member else { return false };
        let from = (meta.source, meta.unicast);
        let way = |source| RecvMeta { source, ..meta };
        if member.on_run((now, now.before(meta.waited)), from, run, way) == Way::Other {
            return false;
        }
        if member.take_joined() {
            engine.on_other_ways();
        }
        give(now, member, engine);
        true
    }

    /// Gives the engine what is in order now, and passes on what is to be. Gives who was found to have
    /// passed on wrong bytes.
    pub(crate) fn advance<E: Engine>(
        &mut self,
        now: Time,
        (endpoint, sealed): (&Endpoint, &mut Sealed),
        engine: &mut E,
    ) -> Option<IpAddr> {
        let member = self.member.as_mut()?;
        give(now, member, engine);
        while let Some(wrong) = engine.take_wrong() {
            member.on_wrong(wrong.key.sender.0, wrong.key.object.0, &wrong.pieces);
        }
        while let Some((to, message)) = member.poll_message(now) {
            say(now, (endpoint, sealed), to, &message);
        }
        self.full = pass(now, member, endpoint, sealed);
        member.poll_accusation().map(|accusation| accusation.host.ip())
    }

    /// Whether it waits for the socket.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// When [`Self::advance`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let member = self.member.as_ref()?;
        let busy =
            (member.is_passing() && !self.full && !member.is_limited()).then_some(Time::ZERO);
        [member.next_timeout(), busy].into_iter().flatten().min()
    }
}

fn give<E: Engine>(now: Time, member: &mut Member<RecvMeta>, engine: &mut E) {
    while let Some(held) = member.poll(now) {
        let meta = RecvMeta { waited: now.since(held.arrived), ..held.meta };
        engine.handle_datagrams(now, meta, &held.run, held.stride);
    }
}

/// Passes on as much as may be now. True when the socket is full.
fn pass(
    now: Time,
    member: &mut Member<RecvMeta>,
    endpoint: &Endpoint,
    sealed: &mut Sealed,
) -> bool {
    for _ in 0..PASSES_PER_TURN {
        let Some((to, stride, run)) = member.poll_pass(now) else { return false };
        sealed.begin();
        let sent = sealed.send(now, endpoint, (to, stride), None, run);
        sealed.begin();
        match sent {
            Ok(sent) => member.on_passed(sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            // To the one that it was for it is a loss like another.
            Err(_) => {
                let all = run.len();
                member.on_passed(all);
            }
        }
    }
    false
}

/// Sends one message of those that pass on. A lost one is said again.
pub(crate) fn say(
    now: Time,
    (endpoint, sealed): (&Endpoint, &mut Sealed),
    to: std::net::SocketAddr,
    message: &[u8],
) {
    sealed.begin();
    let _ = sealed.send(now, endpoint, (to, message.len()), None, message);
    sealed.begin();
}
