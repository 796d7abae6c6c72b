//! Sender and receivers meet by a code, before a transfer begins.

use std::{
    cell::Cell,
    net::{IpAddr, SocketAddr},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::code_exchange::{
    Code, Grant, Guest, GuestEvent, Host, HostEvent, Terms,
    meeting::{Meeting, free_code},
};
use fanfare_command::json::{CodeLine, Line, MetLine};
use fanfare_command::{Exit, Failure, Output, interrupt, units};
use fanfare_node::{
    GroupSpec, Keys, Network,
    seal::{Form, Key, system_salt},
};

/// How often to look whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(100);
/// A host that has another code was found: another one with the same number has so long to answer. Hosts
/// show themselves once a second.
const WRONG_WAIT: Duration = Duration::from_secs(5);
/// Time in which nobody answers to a code before it is given up, where no --timeout says otherwise. A code is
/// known only after its sender has begun to answer to it.
const UNUSED_WAIT: Duration = Duration::from_secs(30);
/// Key ids of transfers by code: each key is of one transfer.
const EPOCH: u32 = 1;

/// How a sender meets its receivers.
#[derive(Debug, Clone)]
pub(crate) struct Hosting {
    pub(crate) terms: Terms,
    pub(crate) place: SocketAddr,
    pub(crate) interface: Option<String>,
    /// As it would be without a code.
    pub(crate) network: Network,
    pub(crate) name: String,
}

/// How a receiver meets its sender.
#[derive(Debug, Clone)]
pub(crate) struct Visiting {
    pub(crate) code: Code,
    pub(crate) place: SocketAddr,
    pub(crate) interface: Option<String>,
    /// Hosts that are asked beside the group.
    pub(crate) others: Vec<SocketAddr>,
}

/// A host that does not let this receiver in.
#[derive(Debug, Clone, Copy)]
struct HostRefusal {
    ip: IpAddr,
    /// It lets nobody in any more; otherwise it has another code.
    over: bool,
    at: Instant,
}

impl Hosting {
    /// Shows a code, and waits for those who know it; the network that they all have a key for.
    pub(crate) fn meet(self, output: &Output) -> Result<Network, Failure> {
        let mut meeting = Meeting::open(self.place, self.interface.as_deref()).map_err(refused)?;
        let no_chance = || chance_missing();
        let mut random = system_salt().ok_or_else(no_chance)?;
        let code = free_code(&mut meeting, || {
            let [a, b, c, d, ..] = random;
            random = system_salt().unwrap_or(random);
            [a, b, c, d]
        });
        let code = code.map_err(refused)?;
        let secret = secret()?;
        let key = Key::from_secret(secret, EPOCH);
        let (group, name) = (self.network.address(), self.name.clone());
        let grant = Grant { secret, group, name };
        let mut id = [0; 8];
        id.copy_from_slice(&system_salt().ok_or_else(no_chance)?[..8]);
        let events = meeting.host(Host::new(&code, grant, self.terms, id)).map_err(refused)?;
        self.announce(&code, output);
        let guests = self.wait(&events, output)?;
        let mut hosts: Vec<SocketAddr> = Vec::new();
        for guest in guests {
            let host = SocketAddr::new(guest.ip(), self.network.address().port());
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let keys = Keys::new(vec![key], Form::Long);
        // Who is reached by multicast gets no copies; who cannot be called knocks.
        Ok(self.network.sealed(keys).hosts(hosts, true).let_in())
    }

    fn announce(&self, code: &Code, output: &Output) {
        let Terms { guests, time, guesses } = self.terms;
        output.event(&Line::Code(CodeLine {
            code: code.to_string(),
            receivers: guests as u64,
            seconds: time.as_secs_f64(),
            guesses,
        }));
        let who = if guests == 1 { "the receiver" } else { "each receiver" };
        output.text(&format!("code: {code}"));
        let time = units::about(time);
        output.text(&format!("on {who}, within {time}: fanfare recv {code}"));
    }

    fn wait(
        &self,
        events: &std::sync::mpsc::Receiver<HostEvent>,
        output: &Output,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let mut guests = Vec::new();
        // The machine ends it; this is for one that does not.
        let end = Instant::now() + self.terms.time + Duration::from_secs(5);
        while Instant::now() < end {
            match events.recv_timeout(LOOK) {
                Ok(HostEvent::Joined(address)) => {
                    guests.push(address);
                    let (here, all) = (guests.len(), self.terms.guests);
                    let ip = address.ip();
                    output.text(&format!("receiver at {ip} knows the code ({here} of {all})"));
                    let address = address.to_string();
                    output.event(&Line::Met(MetLine { address, name: None }));
                }
                Ok(HostEvent::WrongGuess(address, left)) => {
                    output.warn("code.guess", wrong_guess(address.ip(), left));
                }
                Ok(HostEvent::Full) => return Ok(guests),
                Ok(HostEvent::Closed) => {
                    let text = "too many wrong codes: nobody else is let in";
                    output.warn("code.closed", text);
                    return self.go_on(guests, Exit::Permission, "code.closed");
                }
                Ok(HostEvent::Over) => break,
                Err(RecvTimeoutError::Timeout) if interrupt::is_asked() => {
                    return Err(Failure::new(Exit::Interrupted, "interrupted", "interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.go_on(guests, Exit::Nobody, "code.unused")
    }

    /// With those who are here, if there is anybody.
    fn go_on(
        &self,
        guests: Vec<SocketAddr>,
        exit: Exit,
        code: &'static str,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if !guests.is_empty() {
            return Ok(guests);
        }
        let text = match exit {
            Exit::Permission => {
                let guesses = self.terms.guesses;
                format!(
                    "guesses ({guesses}): so many wrong codes were given, and no right one. Send again, for a new code"
                )
            }
            _ => {
                let (time, port) = (units::about(self.terms.time), self.place.port());
                format!(
                    "for ({time}): no receiver came with the code. Send again, for a new code. Where receivers \
                     see no sender, let UDP port {port} in by this machine's firewall, and name it to them with \
                     'fanfare recv CODE --at HOST'"
                )
            }
        };
        Err(Failure::new(exit, code, text))
    }
}

fn wrong_guess(ip: IpAddr, left: u8) -> String {
    let left = match left {
        0 => "no guess is left".to_owned(),
        1 => "1 guess is left".to_owned(),
        left => format!("{left} guesses are left"),
    };
    format!("a wrong code came from {ip}: {left}")
}

impl Visiting {
    /// Looks for the sender, and proves that the code is known; the network of the transfer.
    pub(crate) fn meet(
        &self,
        network: Network,
        timeout: Option<Duration>,
        output: &Output,
    ) -> Result<Network, Failure> {
        let mut meeting = Meeting::open(self.place, self.interface.as_deref()).map_err(refused)?;
        let guest = Guest::new(&self.code, system_salt().ok_or_else(chance_missing)?);
        output.text(&format!("looking for the sender of code {}", self.code));
        let begun = Instant::now();
        let refusal: Cell<Option<HostRefusal>> = Cell::new(None);
        let heard: Cell<Option<IpAddr>> = Cell::new(None);
        let limit = timeout.unwrap_or(UNUSED_WAIT);
        let go_on = || {
            let waits = refusal.get().is_none_or(|refusal| refusal.at.elapsed() < WRONG_WAIT);
            waits && begun.elapsed() < limit && !interrupt::is_asked()
        };
        let refuse = |host: &SocketAddr, over| {
            let (ip, at) = (host.ip(), Instant::now());
            refusal.set(Some(HostRefusal { ip, over, at }));
        };
        let found = meeting.find(guest, &self.others, go_on, |event| match event {
            GuestEvent::Wrong(host, left) => {
                refuse(host, false);
                output.warn("code.guess", format!("the code is not the one of the sender at {}: {left} guesses are left there", host.ip()));
            }
            GuestEvent::Closed(host) => {
                refuse(host, false);
                output.warn("code.closed", format!("the sender at {} has had too many wrong codes, and lets nobody in", host.ip()));
            }
            GuestEvent::Over(host) => {
                refuse(host, true);
                output.warn("code.closed", format!("the sender at {} lets nobody in any more: all receivers have come", host.ip()));
            }
            GuestEvent::Found(host) => heard.set(Some(host.ip())),
            GuestEvent::Granted { .. } | GuestEvent::GaveUp => {}
        });
        match found.map_err(refused)? {
            Some(GuestEvent::Granted { grant, host }) => {
                output.text(&format!("sender {} at {}", grant.name, host.ip()));
                let name = Some(grant.name.clone());
                output.event(&Line::Met(MetLine { address: host.to_string(), name }));
                let keys = vec![Key::from_secret(grant.secret, EPOCH)];
                let group = GroupSpec { group: grant.group, interface: None, node_id: None };
                let named = self.others.iter().any(|other| other.ip() == host.ip());
                let knocks = SocketAddr::new(host.ip(), grant.group.port());
                let network = network.group(group).sealed(Keys::new(keys, Form::Long));
                Ok(network.knock(if named { vec![knocks] } else { Vec::new() }))
            }
            _ if interrupt::is_asked() => {
                Err(Failure::new(Exit::Interrupted, "interrupted", "interrupted"))
            }
            _ => Err(self.not_found(refusal.get(), heard.get(), timeout)),
        }
    }

    /// `heard`: a sender with this number said that it is there.
    fn not_found(
        &self,
        refusal: Option<HostRefusal>,
        heard: Option<IpAddr>,
        timeout: Option<Duration>,
    ) -> Failure {
        let slot = self.code.slot();
        match refusal {
            Some(HostRefusal { ip, over: true, .. }) => {
                let text = format!(
                    "code ({slot}-...): the sender at {ip} lets nobody in any more: all receivers have come, \
                     or its time is over. Ask for a new code"
                );
                Failure::new(Exit::Permission, "code.over", text)
            }
            Some(HostRefusal { ip, .. }) => {
                let text = format!(
                    "code ({slot}-...): the sender at {ip} has another one. Type it as the sender shows it"
                );
                Failure::new(Exit::Permission, "code.wrong", text)
            }
            None => {
                let time = units::about(timeout.unwrap_or(UNUSED_WAIT));
                let port = self.place.port();
                let advice = match (heard, self.others.first()) {
                    (Some(ip), _) => format!(
                        "The sender at {ip} is heard, and does not hear this machine: its firewall must let \
                         in UDP port {port}"
                    ),
                    (None, Some(at)) => format!(
                        "If it is used or too old, ask for a new one. Firewalls and routers before {} must \
                         let in UDP port {}",
                        at.ip(),
                        at.port()
                    ),
                    (None, None) => "If it is used or too old, ask for a new one. If the sender is in \
                         another network, or a firewall here lets in answers alone, name it with --at HOST"
                        .to_owned(),
                };
                let text =
                    format!("code ({slot}-...): no sender with it answered in {time}. {advice}");
                // Who names a time is told that it is over, as by every other command.
                let exit = if timeout.is_some() { Exit::Nobody } else { Exit::Permission };
                Failure::new(exit, "code.unknown", text)
            }
        }
    }
}

fn secret() -> Result<[u8; 32], Failure> {
    let mut secret = [0; 32];
    let (one, two) = (system_salt(), system_salt());
    secret[..16].copy_from_slice(&one.ok_or_else(chance_missing)?);
    secret[16..].copy_from_slice(&two.ok_or_else(chance_missing)?);
    Ok(secret)
}

fn chance_missing() -> Failure {
    let text = "code (): this system has no random bytes to give. Try again later";
    Failure::new(Exit::Resource, "code.chance", text)
}

fn refused(error: impl std::fmt::Display) -> Failure {
    let text = format!("meet (): {error}. Give --interface");
    Failure::new(Exit::Resource, "meet.refused", text)
}
