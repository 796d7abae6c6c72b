//! The task of a session: datagrams, time, and the connections' bytes.

use std::{
    io::ErrorKind,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    Attached, Bulk, Class, ENDED, Event, Link, Options, SendError,
    quinn::{ConnectionError, VarInt},
    seal::{Key, Moment, Seal, Settings, system_salt},
    socket::Sealed,
};
use fanfare_proto::Time;
use tokio::{sync::mpsc, time::sleep_until};

use super::{
    Norm, NormStatus, Sending,
    engine::{Broken, Ends, Engine},
    fit::{self, Fit, Look},
    lock,
};
use crate::proxy::mux::control::Control;

/// For what the secret of the session is.
const LABEL: &[u8] = b"EXPORTER-fanfare-norm";
/// Runs that are read before anything is sent.
const RUNS: usize = 64;
/// Batches that are sent before anything is read.
const BATCHES: usize = 16;
/// How often it is looked whether segments fit the path.
const LOOK: Duration = Duration::from_millis(100);
/// A socket that is full has room again after so long.
const FULL: Duration = Duration::from_millis(1);
/// Control goes before other messages.
const PRIORITY: u8 = 200;

/// The session cannot go on: both ends begin anew.
const BROKEN: VarInt = VarInt::from_u32(2);

/// What is said about connections comes as messages.
pub(super) async fn hear(norm: Arc<Norm>, link: Link) {
    let mut events = link.events();
    loop {
        tokio::select! {
            message = link.recv() => {
                if norm.on_control(&message.bytes).is_err() {
                    break_off(&norm, &link, Broken::Peer(crate::proxy::mux::Violation::Malformed));
                }
            }
            event = events.recv() => {
                use tokio::sync::broadcast::error::RecvError;
                match event {
                    // A process that was started anew is seen by its new connection.
                    Ok(Event::Ended) => norm.reset_all(),
                    Err(RecvError::Closed) => return,
                    _ => {}
                }
            }
        }
    }
}

/// The other end is authenticated, so this is a mistake of a program: nothing goes on as it was.
fn break_off(norm: &Norm, link: &Link, broken: Broken) {
    norm.reset_all();
    if let Some(attached) = link.connections().borrow().as_ref() {
        let reason = format!("connections broken: {broken:?}");
        attached.connection.close(BROKEN, reason.as_bytes());
    }
}

/// A session for each pair of processes, over as many connections as the link needs.
pub(super) async fn run(norm: Arc<Norm>, link: Link, role: u64, sending: Sending) {
    let mut connections = link.connections();
    let mut engine: Option<Engine> = None;
    loop {
        let Ok(attached) = connections.wait_for(Option::is_some).await.map(|found| found.clone())
        else {
            return;
        };
        let Some(attached) = attached else { continue };
        let Some(seal) = seal(&attached) else { return };
        let mut current = match engine.take() {
            Some(mut engine) if attached.resumed => {
                engine.set_seal(norm.clock.now(), seal);
                engine
            }
            _ => {
                norm.reset_all();
                Engine::new(norm.clock.now(), ends(&attached, role), sending, seal)
            }
        };
        let served = serve(&norm, &link, &attached, &mut current).await;
        if let Err(broken) = served {
            break_off(&norm, &link, broken);
        }
        // Until the link has seen that it is gone, too.
        match attached.connection.closed().await {
            // With the link, or its process, the other end has ended all connections.
            ConnectionError::ApplicationClosed(closed)
                if closed.error_code == BROKEN || closed.error_code == ENDED =>
            {
                norm.reset_all();
            }
            _ if served.is_ok() => engine = Some(current),
            _ => {}
        }
        let over =
            |now: &Option<Attached>| now.as_ref().is_none_or(|now| now.epoch != attached.epoch);
        if connections.wait_for(over).await.is_err() {
            return;
        }
    }
}

fn seal(attached: &Attached) -> Option<Seal> {
    let key = Key::from_secret(attached.export(LABEL)?, 1);
    Some(Seal::new(Settings::new(vec![key], "unicast"), system_salt()?))
}

fn ends(attached: &Attached, role: u64) -> Ends {
    let own = attached.instances[usize::from(!attached.is_client())];
    Ends {
        role,
        // Another one for each session of this process.
        instance: u16::from_be_bytes([own[0], own[1]]).wrapping_add(attached.epoch as u16),
        round_trip: attached.connection.rtt(),
        seed: u64::from_be_bytes([own[2], own[3], own[4], own[5], own[6], own[7], own[8], own[9]]),
    }
}

fn moment(now: Time) -> Moment {
    Moment { now, clock: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() }
}

/// One connection of the link, until it is gone.
async fn serve(
    norm: &Arc<Norm>,
    link: &Link,
    attached: &Attached,
    engine: &mut Engine,
) -> Result<(), Broken> {
    let (mut sealed, bulk) = link.bulk(attached);
    let closed = attached.connection.closed();
    tokio::pin!(closed);
    let mut buffer = Vec::new();
    let (mut fit, mut looked) = (Fit::new(), None);
    loop {
        let now = norm.clock.now();
        if looked.is_none_or(|looked| now.since(looked) >= LOOK) {
            looked = Some(now);
            look(now, attached, engine, &mut fit);
        }
        hear_sealed(norm, &mut sealed, engine);
        let full = turn(norm, link, &bulk, engine, &mut buffer)?;
        let now = norm.clock.now();
        let next = engine.next_timeout().map(|at| norm.clock.instant(at.max(now)));
        let next = if full { Some(Instant::now() + FULL) } else { next };
        let next = next.unwrap_or_else(|| Instant::now() + Duration::from_secs(1));
        tokio::select! {
            biased;
            _ = &mut closed => return Ok(()),
            Some(run) = sealed.recv() => on_sealed(norm, &run, engine),
            () = norm.wake.notified() => {}
            () = sleep_until(next.into()) => {}
        }
    }
}

/// Segments are to fit the path, as far as QUIC knows it.
fn look(now: Time, attached: &Attached, engine: &mut Engine, fit: &mut Fit) {
    let fits = fit::segment(attached.connection.stats().path.current_mtu);
    engine.set_segment(fits);
    match fit.look(now, fits, engine.unacknowledged(), attached.connection.rtt()) {
        Look::Fits => {}
        Look::Probe => attached.probe_path(),
        Look::Again => engine.begin_anew(now),
    }
}

fn hear_sealed(norm: &Norm, sealed: &mut mpsc::Receiver<Sealed>, engine: &mut Engine) {
    for _ in 0..RUNS {
        let Ok(run) = sealed.try_recv() else { return };
        on_sealed(norm, &run, engine);
    }
}

fn on_sealed(norm: &Norm, run: &Sealed, engine: &mut Engine) {
    let now = norm.clock.now();
    let waited = now.since(norm.clock.at(run.at));
    engine.on_sealed(moment(now), (&run.run, run.stride), run.ecn, waited);
}

/// Everything that may go now. True when the socket is full.
fn turn(
    norm: &Norm,
    link: &Link,
    bulk: &Bulk,
    engine: &mut Engine,
    buffer: &mut Vec<u8>,
) -> Result<bool, Broken> {
    for _ in 0..BATCHES {
        let now = norm.clock.now();
        norm.with(|mux| engine.step(now, mux))?;
        say(norm, link);
        let at = moment(now);
        while let Some(hello) = engine.poll_hello(at) {
            // A lost one is asked for again.
            let _ = bulk.send(hello.len(), None, &hello);
        }
        let Some((size, ecn)) = engine.poll_sealed(at, buffer) else { break };
        if let Some(hello) = engine.greet(at) {
            let _ = bulk.send(hello.len(), None, &hello);
        }
        match bulk.send(size, ecn, buffer) {
            // What the socket does not take is lost, as on the way.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            _ => {}
        }
    }
    let (rate, reason, round_trip, kept) = engine.status();
    let connections = norm.with(|mux| mux.len());
    let rate = rate.as_bps();
    let sent = engine.sent();
    *lock(&norm.status) = NormStatus { rate, reason, round_trip, kept, connections, sent };
    Ok(false)
}

/// What is to be said about connections goes as messages.
fn say(norm: &Norm, link: &Link) {
    loop {
        let Some(control) = norm.with(|mux| mux.poll_control()) else { return };
        let mut options = Options { priority: PRIORITY, ..Options::default() };
        if let Control::Credit(id, _) = control {
            // Only the last word about credit counts.
            (options.tag, options.replace) = (id, true);
        }
        let said = link.send(Class::ReliableUnsequenced, &control.to_bytes(), options);
        if said == Err(SendError::Full) {
            norm.with(|mux| mux.unpoll_control(control));
            return;
        }
    }
}
