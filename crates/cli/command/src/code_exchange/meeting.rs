//! Hosts and guests on real sockets, in a group of their own.

use std::{
    io,
    net::SocketAddr,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use fanfare_udp::{Endpoint, EndpointConfig, HeardHosts, OpenError, Via, choose_interface};

use crate::code_exchange::{
    code::Code,
    guest::{Guest, GuestEvent},
    host::{Host, HostEvent},
    message::Message,
};

/// How long others with the same number have to say so.
const TAKEN_WAIT: Duration = Duration::from_millis(300);
/// How often it is looked whether this should end.
const LOOK: Duration = Duration::from_millis(100);
/// Every message is shorter, so that each is one datagram.
const LONGEST: usize = 1200;

/// The sockets at a meeting place.
#[derive(Debug)]
pub struct Meeting {
    endpoint: Endpoint,
    begun: Instant,
}

impl Meeting {
    /// At this group, by this interface or the one of the route.
    ///
    /// # Errors
    /// When there is no such interface, or the system refuses.
    pub fn open(group: SocketAddr, interface: Option<&str>) -> Result<Self, OpenError> {
        let interface = choose_interface(group.ip(), interface)?;
        let config = EndpointConfig {
            group,
            interface: Some(interface),
            direct: true,
            hears_direct: true,
            // Who does not know the code learns nothing, and guesses are counted.
            heard_hosts: HeardHosts::Everybody,
            ..EndpointConfig::default()
        };
        Ok(Self { endpoint: Endpoint::open(&config)?, begun: Instant::now() })
    }

    fn send(&self, to: SocketAddr, bytes: &[u8]) {
        // What is lost is sent again, whatever the reason.
        let _ = self.endpoint.send(to, LONGEST, None, bytes);
    }

    /// Gives `each` the messages that have come. Whoever asks by the port of the meeting place is answered from
    /// there: a firewall on the way lets in nothing else.
    fn receive(&mut self, mut each: impl FnMut(SocketAddr, &[u8])) -> io::Result<()> {
        let mut asked = Vec::new();
        self.endpoint.receive(|meta, bytes| {
            if !matches!(meta.via, Via::Group(_) | Via::Layers) && Message::parse(bytes).is_some() {
                asked.push((meta.source, meta.via == Via::Direct));
            }
            each(meta.source, bytes);
        })?;
        for (source, by_machine) in asked {
            self.endpoint.speak_by_machine(source, by_machine);
        }
        Ok(())
    }

    /// Says it to a host that was found, where it speaks from and at the port of the meeting place: a firewall
    /// may have let out what it says, and let in only what comes to that port.
    fn say(&self, to: SocketAddr, bytes: &[u8]) {
        self.send(to, bytes);
        let place = SocketAddr::new(to.ip(), self.endpoint.group().port());
        if place != to {
            self.send(place, bytes);
        }
    }

    /// Waits for messages, and follows the interface where it changes.
    fn wait(&mut self, time: Option<Duration>) -> io::Result<()> {
        if self.endpoint.wait(time, None)?.changed {
            // What it cannot do yet it does at the next change.
            let _ = self.endpoint.follow();
        }
        Ok(())
    }

    /// Whether somebody nearby has this number already.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn is_taken(&mut self, slot: u16) -> io::Result<bool> {
        self.send(self.endpoint.group(), &Message::Question.encode(slot));
        let until = Instant::now() + TAKEN_WAIT;
        let mut taken = false;
        while !taken && Instant::now() < until {
            self.wait(Some(until.saturating_duration_since(Instant::now())))?;
            self.receive(|_, bytes| {
                taken |= matches!(Message::parse(bytes), Some((of, Message::Beacon { .. })) if of == slot);
            })?;
        }
        Ok(taken)
    }

    /// Lets guests in from a thread of its own, as long as the process runs: who has lost the last
    /// message asks for it again. What happens comes out of the channel.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn host(mut self, mut host: Host) -> io::Result<Receiver<HostEvent>> {
        let (told, events) = channel();
        let serve = move || {
            loop {
                let now = self.begun.elapsed();
                host.handle_timeout(now);
                while let Some((to, bytes)) = host.poll_transmit() {
                    self.send(to.unwrap_or(self.endpoint.group()), &bytes);
                }
                while let Some(event) = host.poll_event() {
                    // Nobody may listen any more.
                    let _ = told.send(event);
                }
                let wait = host.next_timeout().map(|at| at.saturating_sub(now));
                let begun = self.begun;
                let taken = self.wait(wait).and_then(|()| {
                    self.receive(|source, bytes| host.on_datagram(begun.elapsed(), source, bytes))
                });
                if taken.is_err() {
                    std::thread::sleep(LOOK);
                }
            }
        };
        std::thread::Builder::new().name("code".to_owned()).spawn(serve)?;
        Ok(events)
    }

    /// Looks for the host of a code in the group and at these addresses, until it is found, it is given
    /// up, or `go_on` says no. What happens on the way is told to `each`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn find(
        &mut self,
        mut guest: Guest,
        others: &[SocketAddr],
        mut go_on: impl FnMut() -> bool,
        mut each: impl FnMut(&GuestEvent),
    ) -> io::Result<Option<GuestEvent>> {
        while go_on() {
            let begun = self.begun;
            guest.handle_timeout(begun.elapsed());
            while let Some((to, bytes)) = guest.poll_transmit() {
                match to {
                    Some(to) => self.say(to, &bytes),
                    None => {
                        self.send(self.endpoint.group(), &bytes);
                        others.iter().for_each(|to| self.send(*to, &bytes));
                    }
                }
            }
            while let Some(event) = guest.poll_event() {
                each(&event);
                if matches!(event, GuestEvent::Granted { .. } | GuestEvent::GaveUp) {
                    return Ok(Some(event));
                }
            }
            let due = guest.next_timeout().map_or(LOOK, |at| at.saturating_sub(begun.elapsed()));
            self.wait(Some(due.min(LOOK)))?;
            self.receive(|source, bytes| guest.on_datagram(begun.elapsed(), source, bytes))?;
        }
        Ok(None)
    }
}

/// A code whose number nobody nearby has; `random` gives bytes.
///
/// # Errors
/// When the system refuses.
pub fn free_code(meeting: &mut Meeting, mut random: impl FnMut() -> [u8; 4]) -> io::Result<Code> {
    /// There are nine numbers: when so many are taken, two share one.
    const TRIES: usize = 9;
    let mut code = Code::of_chance(random());
    for _ in 0..TRIES {
        if !meeting.is_taken(code.slot())? {
            break;
        }
        code = Code::of_chance(random());
    }
    Ok(code)
}
