//! Receivers that pass on to each other: where their machine meets the sockets and the engine.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
};

use crate::serve::{AdmittedPath, IncomingRun, JoinedSession, Member, Settings, SocketDoor, Way};
use fanfare_proto::{RecvMeta, Time};
use fanfare_udp::{ChosenInterface, Endpoint, Via};

use crate::{chance::random, engine::Engine, sealed::Sealed};

/// Runs that are passed on before looking at what arrived.
const PASSES_PER_TURN: usize = 64;

/// Hosts that are told of because they send here what nobody asked for.
const TOLD_MAX: usize = 4;

/// A receiver's part, if it has one, and what is let in of what is sent to this host alone.
#[derive(Debug)]
pub(crate) struct Serving {
    member: Option<Member<RecvMeta>>,
    /// The group is a multicast group: what comes otherwise needs leave.
    multicast: bool,
    chosen: ChosenInterface,
    /// Something waits to be passed on, and the socket takes nothing now.
    full: bool,
    /// Runs that were not taken, and who has sent them: one that is to be told, and those that were.
    refused: u64,
    stranger: Option<IpAddr>,
    told: BTreeSet<IpAddr>,
}

/// Fate of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFate {
    /// It is for the engine.
    No,
    /// It was for this, will come out in order, or is for nobody here.
    Yes,
}

impl Serving {
    /// `settings`: how a receiver takes part in what is sent to hosts alone. `joined`: in which session, if
    /// it does.
    /// `knocks`: senders that are knocked at.
    pub(crate) fn new(
        settings: Settings,
        joined: Option<JoinedSession>,
        knocks: &[SocketAddr],
    ) -> Self {
        let member = joined.map(|joined| {
            let mut secret = [0; 32];
            for part in secret.chunks_exact_mut(8) {
                part.copy_from_slice(&random().to_ne_bytes());
            }
            Member::new(settings, joined, secret, random()).knocking_at(knocks)
        });
        Self {
            member,
            multicast: false,
            chosen: ChosenInterface::default(),
            full: false,
            refused: 0,
            stranger: None,
            told: BTreeSet::new(),
        }
    }

    /// The sockets are open, or were opened anew.
    pub(crate) fn on_open(&mut self, endpoint: &Endpoint) {
        self.multicast = endpoint.group().ip().is_multicast();
        self.chosen = endpoint.chosen_interface();
        if let (Some(member), Ok(own)) = (&mut self.member, endpoint.local_addr()) {
            member.set_port(own.port());
        }
    }

    /// A run came by this socket: whether it is for the engine. What somebody sends to this host alone is
    /// for nobody unless it was asked for.
    pub(crate) fn take<E: Engine>(
        &mut self,
        now: Time,
        via: Via,
        meta: RecvMeta,
        run: &[u8],
        stride: usize,
        engine: &mut E,
    ) -> RunFate {
        // Calls by broadcast come here, too, where layers share the port: they say nothing of it.
        if via == Via::Layers {
            return RunFate::No;
        }
        let door = door_of(via);
        let Some(member) = &mut self.member else {
            if !self.multicast || door == SocketDoor::Group || !is_of_sender(run) {
                return RunFate::No;
            }
            // What others send to this machine is for its receivers.
            if door == SocketDoor::Own {
                self.refuse(meta.source.ip());
            }
            return RunFate::Yes;
        };
        let chosen = &self.chosen;
        let arrived = now.before(meta.waited);
        let incoming = IncomingRun { from: meta.source, door, arrived, run, stride };
        let way = |source| RecvMeta { source, ..meta };
        let way = member.on_run(now, incoming, way, |ip| chosen.leads_to(ip));
        match way {
            Way::Other => return RunFate::No,
            Way::Refused if self.multicast => {
                self.refuse(meta.source.ip());
                return RunFate::Yes;
            }
            Way::Refused => return RunFate::No,
            Way::Taken => {}
        }
        if member.take_joined() {
            engine.on_other_ways();
        }
        give(now, member, engine);
        RunFate::Yes
    }

    fn refuse(&mut self, source: IpAddr) {
        self.refused += 1;
        if self.told.len() < TOLD_MAX && self.told.insert(source) {
            self.stranger = Some(source);
        }
    }

    /// A host that sends to this one alone what nobody asked for: each once.
    pub(crate) fn poll_stranger(&mut self) -> Option<IpAddr> {
        self.stranger.take()
    }

    /// The next sender that is to be answered by this door from now on, feedback and all.
    pub(crate) fn poll_door(&mut self) -> Option<AdmittedPath> {
        self.member.as_mut()?.poll_door()
    }

    /// Host that calls this one by its name, and is not answered since this receiver is silent: once.
    pub(crate) fn poll_unanswered(&mut self) -> Option<IpAddr> {
        self.member.as_mut()?.poll_unanswered()
    }

    /// Gives the engine what is in order now, and passes on what is to be. Gives who was found to have
    /// passed on wrong bytes.
    pub(crate) fn advance<E: Engine>(
        &mut self,
        now: Time,
        endpoint: &Endpoint,
        sealed: &mut Sealed,
        engine: &mut E,
    ) -> Option<IpAddr> {
        let member = self.member.as_mut()?;
        give(now, member, engine);
        while let Some(wrong) = engine.take_wrong() {
            member.on_wrong(wrong.key.sender.0, wrong.key.object.0, &wrong.pieces);
        }
        while let Some(reply) = member.poll_message(now) {
            match reply.by_machine {
                true => answer(now, endpoint, sealed, reply.to, &reply.bytes),
                false => say(now, endpoint, sealed, reply.to, &reply.bytes),
            }
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
        let sent = sealed.send(now, endpoint, to, stride, None, run);
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

/// The door that a socket is.
pub(crate) fn door_of(via: Via) -> SocketDoor {
    match via {
        Via::Group(_) | Via::Layers => SocketDoor::Group,
        Via::Unicast => SocketDoor::Own,
        Via::Direct => SocketDoor::Machine,
    }
}

/// Sends one message of those that pass on. A lost one is said again.
pub(crate) fn say(
    now: Time,
    endpoint: &Endpoint,
    sealed: &mut Sealed,
    to: SocketAddr,
    message: &[u8],
) {
    sealed.begin();
    let _ = sealed.send(now, endpoint, to, message.len(), None, message);
    sealed.begin();
}

/// Sends one message by the socket of the machine, from the port that a call came to.
fn answer(now: Time, endpoint: &Endpoint, sealed: &mut Sealed, to: SocketAddr, message: &[u8]) {
    sealed.seal_one(now, to, message, |datagram| {
        endpoint.answer(to, datagram);
    });
}

/// True if a run is what senders send by NORM: INFO, DATA or CMD (RFC 5740 4.1, types 1 to 3), of version 1.
fn is_of_sender(run: &[u8]) -> bool {
    run.first().is_some_and(|first| first >> 4 == 1 && (1..=3).contains(&(first & 0x0f)))
}
