//! The thread between the hosts: it reads what they send, asks the model, and delivers what is due.
//!
//! One thread, one queue of events, and no locks on the path of a packet. It sleeps in `epoll`
//! until a host sends or the next event is due; a `timerfd` makes that exact to the nanosecond.

mod cable;
pub(crate) mod capture;
pub(crate) mod clock;
mod commands;
pub(crate) mod igmp;
pub(crate) mod lateness;
pub(crate) mod packet;
pub(crate) mod segment;
pub(crate) mod snapshot;
pub(crate) mod tap;

use cable::Cable;
pub(crate) use commands::{Handle, Order};

use crate::{
    emulator::capture::Captured,
    emulator::clock::Clock,
    emulator::lateness::Lateness,
    emulator::packet::{Addressee, ETHERNET, Kind, classify, complete_checksum, ecn},
    emulator::segment::{Offload, VNET, cut},
    emulator::snapshot::{LinkCounts, Snapshot},
    emulator::tap::Tap,
    error::LabError,
    system::priority,
};
use fanfare_proto::{Duration, Time};
use fanfare_sim::{Due, Emulation, Host, Plan, Recipient};
use rustix::{
    event::{Timespec, epoll},
    fd::OwnedFd,
    time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime,
        timerfd_create, timerfd_settime,
    },
};
use std::{
    net::Ipv4Addr,
    os::fd::AsFd as _,
    rc::Rc,
    sync::mpsc::{Receiver, SyncSender, TrySendError, channel},
    thread::JoinHandle,
};

/// Frames read from one host before others have their turn.
const READ_BURST: usize = 64;
/// A frame with its headers: IPv4's length has 16 bits.
const FRAME_MAX: usize = VNET + ETHERNET + 65_536;
/// Nearer than that, waiting costs more than it saves: going to sleep and waking takes as long.
const SPIN: Duration = Duration::from_micros(15);
/// Shows within a hundred wakes each second whether the machine lets the emulator run.
const PULSE: Duration = Duration::from_millis(10);
const TIMER: u64 = u64::MAX;
const ORDERS: u64 = u64::MAX - 1;

/// The emulator at work.
pub(crate) struct Emulator {
    emulation: Emulation,
    cables: Vec<Cable>,
    clock: Clock,
    orders: Receiver<Order>,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// What the timer is set to.
    armed: Time,
    next_pulse: Time,
    lateness: Lateness,
    first: bool,
    captures: Vec<(usize, SyncSender<Captured>)>,
    uncaptured: u64,
    due: Vec<Due>,
    buffer: Vec<u8>,
    wake: OwnedFd,
}

/// Starts the emulator of a plan over these devices, one for each of its hosts, by name.
pub(crate) fn start(
    plan: Plan,
    taps: Vec<(String, Tap)>,
    clock: Clock,
) -> Result<(Handle, JoinHandle<Snapshot>), LabError> {
    let failed =
        |error: rustix::io::Errno| LabError::system("emulator (its devices)", &error.into());
    let (sender, orders) = channel();
    let (handle, wake) = Handle::new(sender, clock).map_err(failed)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(failed)?;
    let add = |fd: rustix::fd::BorrowedFd<'_>, number: u64| {
        epoll::add(&epoll, fd, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    };
    add(timer.as_fd(), TIMER).map_err(failed)?;
    add(wake.as_fd(), ORDERS).map_err(failed)?;
    for (number, (_, tap)) in taps.iter().enumerate() {
        add(tap.as_fd(), number as u64).map_err(failed)?;
    }
    let spawned = std::thread::Builder::new().name("emulator".into()).spawn(move || {
        let emulator = Emulator {
            // Made here: the model shares its packets within one thread.
            emulation: Emulation::new(plan),
            cables: taps.into_iter().map(|(node, tap)| Cable::new(node, tap)).collect(),
            clock,
            orders,
            epoll,
            timer,
            armed: Time::FAR_FUTURE,
            next_pulse: clock.now() + PULSE,
            lateness: Lateness::default(),
            first: priority::go_first().is_ok(),
            captures: Vec::new(),
            uncaptured: 0,
            due: Vec::new(),
            buffer: vec![0; FRAME_MAX],
            wake,
        };
        emulator.run()
    });
    let thread = spawned.map_err(|error| LabError::system("emulator (its devices)", &error))?;
    Ok((handle, thread))
}

impl Emulator {
    fn run(mut self) -> Snapshot {
        let mut ready = Vec::with_capacity(64);
        loop {
            self.advance();
            if !self.wait(&mut ready) {
                return self.snapshot();
            }
            for number in ready.drain(..) {
                self.read(number);
            }
        }
    }

    /// Lets happen what is due, and hands over what has arrived.
    fn advance(&mut self) {
        let now = self.clock.now();
        if now >= self.next_pulse {
            self.lateness.scheduling_delay.add(now.since(self.next_pulse));
            self.next_pulse = (self.next_pulse + PULSE).max(now);
        }
        self.emulation.poll(now, &mut self.due);
        self.deliver();
    }

    /// Sleeps until a host sends or something is due; gives the hosts that have sent. False when
    /// the lab goes down.
    fn wait(&mut self, ready: &mut Vec<usize>) -> bool {
        let next = self.emulation.next_time().unwrap_or(Time::FAR_FUTURE).min(self.next_pulse);
        let ahead = next.since(self.clock.now());
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = (ahead <= SPIN).then_some(&at_once);
        if timeout.is_none() {
            self.arm(next, ahead);
        }
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; 64];
        let count = epoll::wait(&self.epoll, &mut events[..], timeout).unwrap_or(0);
        let mut stays = true;
        for event in &events[..count] {
            match { event.data }.u64() {
                TIMER => {
                    self.armed = Time::FAR_FUTURE;
                    let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                }
                ORDERS => stays = self.obey(),
                number => ready.push(number as usize),
            }
        }
        stays
    }

    fn arm(&mut self, next: Time, ahead: Duration) {
        if self.armed == next {
            return;
        }
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: ahead.as_secs() as i64,
            tv_nsec: i64::from(ahead.subsec_nanos()).max(1),
        };
        let spec = Itimerspec { it_interval: none, it_value: value };
        // A timer of ours with a valid time is never refused.
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec).is_ok() {
            self.armed = next;
        }
    }

    /// False when the lab goes down.
    fn obey(&mut self) -> bool {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Snapshot(to) => {
                    // Who asked may have gone away.
                    let _ = to.send(self.snapshot());
                }
                Order::Capture(number, to) => self.captures.push((number, to)),
                Order::Change(change) => self.emulation.apply(self.clock.now(), change),
                Order::Stop => return false,
            }
        }
        true
    }

    fn read(&mut self, number: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..READ_BURST {
            // A device that fails has gone with its host.
            let Ok(Some(length)) = self.cables[number].read(&mut buffer) else { break };
            let now = self.clock.now();
            // What was due before comes before.
            self.emulation.poll(now, &mut self.due);
            self.on_frame(now, number, &mut buffer[..length]);
        }
        self.buffer = buffer;
        self.deliver();
    }

    fn on_frame(&mut self, now: Time, number: usize, bytes: &mut [u8]) {
        let Some((header, frame)) = bytes.split_first_chunk_mut::<VNET>() else { return };
        let offload = Offload::parse(header);
        let hosts = self.cables.len();
        let counts = &mut self.cables[number].counts;
        let (to, length) = match classify(frame) {
            Kind::Packet(to, length) => (to, length),
            Kind::Local => {
                counts.local += 1;
                let host = Host(number as u16);
                for (group, joined) in igmp::memberships(&frame[ETHERNET..]) {
                    self.emulation.on_membership(now, host, group, joined);
                }
                return;
            }
            Kind::Foreign => return counts.foreign += 1,
        };
        let to = match to {
            Addressee::All => recipient(&frame[ETHERNET..]),
            Addressee::Host(to) if to < hosts => Recipient::Host(Host(to as u16)),
            Addressee::Host(_) => return counts.unknown += 1,
        };
        let (ethernet, packet) = frame.split_at_mut(ETHERNET);
        let packet = &mut packet[..length];
        if let Some(size) = offload.segment {
            return cut(packet, size, |piece| self.send(now, number, to, ethernet, piece));
        }
        if let Some((start, offset)) = offload.checksum {
            complete_checksum(packet, start, offset);
        }
        self.send(now, number, to, ethernet, Rc::from(&*packet));
    }

    fn send(&mut self, now: Time, from: usize, to: Recipient, ethernet: &[u8], bytes: Rc<[u8]>) {
        self.cables[from].counts.sent.add(1, bytes.len());
        self.capture(from, now, ethernet, &bytes);
        let mark = ecn(&bytes);
        if !self.emulation.on_packet(now, Host(from as u16), to, mark, bytes) {
            self.cables[from].counts.unplugged += 1;
        }
    }

    fn deliver(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        for packet in due.drain(..) {
            let to = usize::from(packet.to.0);
            if !self.captures.is_empty() {
                let (frame, bytes) = Cable::as_seen(&packet);
                self.capture(to, packet.at, &frame, &bytes);
            }
            self.cables[to].push(packet);
        }
        self.due = due;
        for cable in &mut self.cables {
            cable.flush(&self.clock, &mut self.lateness);
        }
    }

    fn capture(&mut self, number: usize, at: Time, ethernet: &[u8], packet: &[u8]) {
        let uncaptured = &mut self.uncaptured;
        self.captures.retain(|(of, to)| {
            if *of != number {
                return true;
            }
            let captured = Captured { at, frame: [ethernet, packet].concat() };
            match to.try_send(captured) {
                Ok(()) => true,
                Err(TrySendError::Full(_)) => {
                    *uncaptured += 1;
                    true
                }
                Err(TrySendError::Disconnected(_)) => false,
            }
        });
    }

    fn snapshot(&self) -> Snapshot {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        Snapshot {
            seconds: self.clock.now().as_secs_f64(),
            nodes: self.cables.iter().map(|cable| cable.counts.clone()).collect(),
            links: self.emulation.accounts().into_iter().map(LinkCounts::from).collect(),
            unheard: self.emulation.unheard(),
            lateness: self.lateness.report(),
            first: self.first,
            cpu_seconds: f64::from(cpu.tv_sec as u32) + cpu.tv_nsec as f64 / 1e9,
            uncaptured: self.uncaptured,
        }
    }
}

/// Of a packet for many: whose it is.
fn recipient(packet: &[u8]) -> Recipient {
    let group = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
    if igmp::is_flooded(group) { Recipient::Group } else { Recipient::Members(group) }
}
