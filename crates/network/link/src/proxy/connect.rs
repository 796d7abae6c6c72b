//! The far connection: what the policy says, which addresses there are, and which of them answers.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::proxy::{
    code::Code,
    destination::{Destination, Host},
    policy::{Policy, Refusal},
    resolve::Resolver,
};

/// Next address after so long (RFC 8305, 5).
const NEXT: Duration = Duration::from_millis(250);
/// Silent connections are asked after so long whether they are still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// For the client.
    pub code: Code,
    /// For the log: the rule that is missing, if that is why.
    pub refusal: Option<Refusal>,
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self { code, refusal: None }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { code: Code::Refused, refusal: Some(refusal) }
    }
}

/// Connects; `policy` is checked before names are resolved and again for each address.
///
/// # Errors
/// Why not.
pub async fn connect(
    destination: &Destination,
    policy: Option<&Policy>,
    resolver: &Resolver,
    patience: Duration,
) -> Result<TcpStream, Failure> {
    let all = async {
        let addresses = addresses(destination, policy, resolver).await?;
        race(addresses).await.map_err(|error| Failure::from(Code::of_error(&error)))
    };
    timeout(patience, all).await.unwrap_or(Err(Code::TimedOut.into()))
}

/// The addresses that may be connected to, IPv6 first and then in turns (RFC 8305, 4).
///
/// # Errors
/// When there is none.
pub async fn addresses(
    destination: &Destination,
    policy: Option<&Policy>,
    resolver: &Resolver,
) -> Result<Vec<SocketAddr>, Failure> {
    if let Some(policy) = policy {
        policy.check_destination(destination)?;
    }
    let (name, found) = match &destination.host {
        Host::Address(address) => (None, vec![*address]),
        Host::Name(name) => (Some(name.as_str()), resolver.resolve(name).await),
    };
    if found.is_empty() {
        return Err(Code::HostUnreachable.into());
    }
    let mut refused = None;
    let mut allowed = Vec::new();
    for address in found {
        let own = is_own(address);
        let checked = policy
            .map_or(Ok(()), |policy| policy.check_address(name, address, destination.port, own));
        match checked {
            Ok(()) => allowed.push(address),
            Err(refusal) => refused = Some(refusal),
        }
    }
    if let (true, Some(refusal)) = (allowed.is_empty(), refused) {
        return Err(refusal.into());
    }
    let (mut v6, mut v4): (Vec<IpAddr>, Vec<IpAddr>) =
        allowed.into_iter().partition(IpAddr::is_ipv6);
    v6.reverse();
    v4.reverse();
    let mut turns = Vec::new();
    while !(v6.is_empty() && v4.is_empty()) {
        turns.extend(v6.pop().into_iter().chain(v4.pop()));
    }
    Ok(turns.into_iter().map(|ip| SocketAddr::new(ip, destination.port)).collect())
}

/// Whether this address is one of this machine's: packets to it would come from it. None is sent.
#[must_use]
pub fn is_own(address: IpAddr) -> bool {
    let any: SocketAddr = match address {
        IpAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        IpAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let from = UdpSocket::bind(any).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

/// The first of them that answers; each later one begins a little later, or when one has failed.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(ErrorKind::NotFound);
    let mut exhausted = false;
    loop {
        if !exhausted {
            match waiting.next() {
                Some(address) => drop(attempts.spawn(one(address))),
                None => exhausted = true,
            }
        }
        if exhausted && attempts.is_empty() {
            return Err(last);
        }
        tokio::select! {
            Some(joined) = attempts.join_next() => match joined {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => {}
            },
            () = sleep(NEXT), if !exhausted => {}
        }
    }
}

async fn one(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    let stream = socket.connect(address).await?;
    prepare(&stream);
    Ok(stream)
}

/// What all our TCP sockets have.
pub fn prepare(stream: &TcpStream) {
    // What these refuse is of no harm.
    let _ = stream.set_nodelay(true);
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 4);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keep_alive);
}
