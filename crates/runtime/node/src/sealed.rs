//! Where sockets and messages meet: with a key, what goes out is sealed and only what opens comes in.
//!
//! Whoever owns an endpoint sends and receives through this, whatever is in the messages: files, groups,
//! layers, one receiver or many. Without a key nothing is changed, and sealed datagrams are dropped and
//! told. Messages that are too long for a path go in fragments, each sealed ([`crate::path_mtu`]).

use std::{
    fmt, io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::serve::SessionName;
use fanfare_crypto::{Form, Key, Keyless, Moment, Notice, Seal, Settings, system_salt};
use fanfare_proto::Time;
use fanfare_udp::{Ecn, Endpoint};

use crate::join_error::JoinError;
use crate::path_mtu::{FragmentCut, PathMtu, ShortPath};

/// Where keys come from that change while a program runs.
pub trait KeySource: fmt::Debug + Send + Sync {
    /// The present keys and their number, if that is another than `known`. Asked once a second, by
    /// each socket: it must not wait for anything.
    fn newer(&self, known: u64) -> Option<(u64, Vec<Key>)>;
}

/// Keys of a group, and how long the envelope is.
#[derive(Debug, Clone)]
pub struct Keys {
    keys: Vec<Key>,
    form: Form,
    source: Option<Arc<dyn KeySource>>,
}

impl Keys {
    /// It speaks with the first, and understands all. The form is the same for all members.
    #[must_use]
    pub fn new(keys: Vec<Key>, form: Form) -> Self {
        Self { keys, form, source: None }
    }

    /// Bytes that each message becomes longer by.
    pub(crate) fn overhead(&self) -> usize {
        self.form.overhead()
    }

    /// Takes the keys that come from there later, too. Its number is 0 while they are the first ones.
    #[must_use]
    pub fn following(self, source: Arc<dyn KeySource>) -> Self {
        Self { source: Some(source), ..self }
    }
}

/// A key is looked for so often: who is removed from a group reads no longer than this and what the
/// change takes to arrive, and a look costs a few microseconds.
const LOOK: Duration = Duration::from_secs(1);

/// Looks for keys now and then.
#[derive(Debug)]
struct Follower {
    source: Arc<dyn KeySource>,
    known: u64,
    next: Time,
}

impl Follower {
    fn poll(&mut self, now: Time) -> Option<Vec<Key>> {
        if now < self.next {
            return None;
        }
        self.next = now + LOOK;
        let (number, keys) = self.source.newer(self.known)?;
        self.known = number;
        Some(keys)
    }
}

/// Scope of datagrams: for whom they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramScope {
    /// This group, or this host.
    Group,
    /// All hosts of the link, of whatever group.
    AllHosts,
}

#[derive(Debug)]
enum Kind {
    Clear(Keyless),
    Sealed(Box<Seal>),
}

/// Seals and opens, or lets through.
#[derive(Debug)]
pub struct Sealed {
    kind: Kind,
    /// A batch, sealed.
    sealed: Vec<u8>,
    /// What the socket has not taken of it yet: from this byte on.
    taken: Option<usize>,
    /// Goes ahead of it.
    hello: Option<Vec<u8>>,
    /// A run, opened.
    opened: Vec<u8>,
    follower: Option<Follower>,
    path_mtu: PathMtu,
    /// How the batch in `sealed` was cut.
    cut: Option<FragmentCut>,
}

impl Sealed {
    /// For a node of the group of this address; `silent`: it is not to be heard.
    pub(crate) fn new(
        keys: Option<&Keys>,
        group: SocketAddr,
        silent: bool,
    ) -> Result<Self, JoinError> {
        let kind = match keys {
            None => Kind::Clear(Keyless::default()),
            Some(Keys { keys, form, .. }) => {
                let name = SessionName::from(group).signed();
                let settings = Settings::new(keys.clone(), &name).in_form(*form).silent(silent);
                Kind::Sealed(Box::new(Seal::new(settings, salt()?)))
            }
        };
        let (sealed, opened) = (Vec::new(), Vec::new());
        let source = keys.and_then(|keys| keys.source.clone());
        let follower = source.map(|source| Follower { source, known: 0, next: Time::ZERO });
        let overhead = keys.map_or(0, Keys::overhead);
        let path_mtu = PathMtu::new(overhead, silent);
        let (taken, hello, cut) = (None, None, None);
        Ok(Self { kind, sealed, taken, hello, opened, follower, path_mtu, cut })
    }

    /// Bytes that each message becomes longer by.
    #[must_use]
    pub fn overhead(&self) -> usize {
        match &self.kind {
            Kind::Clear(_) => 0,
            Kind::Sealed(seal) => seal.overhead(),
        }
    }

    /// It goes soon: a hello goes ahead of its last messages, as who has just come cannot open them without.
    pub fn part(&mut self) {
        if let Kind::Sealed(seal) = &mut self.kind {
            seal.greet_again();
        }
    }

    /// What is sent next is another batch than before, whatever became of that.
    pub fn begin(&mut self) {
        (self.taken, self.hello, self.cut) = (None, None, None);
    }

    /// Sends messages of `size` bytes each, the last may be shorter; how many bytes the socket has taken.
    /// What it has not taken is sent by the same call again, with the rest.
    ///
    /// # Errors
    /// As [`Endpoint::send`].
    pub fn send(
        &mut self,
        now: Time,
        endpoint: &Endpoint,
        to: SocketAddr,
        size: usize,
        ecn: Option<Ecn>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        for _ in 0..PathMtu::REFUSALS_MAX {
            match self.send_cut(now, endpoint, to, size, ecn, bytes) {
                Err(error) if is_too_long(&error) => {
                    let size = self.cut.map_or(size.min(bytes.len()), FragmentCut::len);
                    if !self.path_mtu.on_refused(now, to, size) {
                        return Err(error);
                    }
                    // Nothing of it went out: no number is used twice.
                    self.begin();
                }
                result => return result,
            }
        }
        self.send_cut(now, endpoint, to, size, ecn, bytes)
    }

    /// Whole, or in fragments.
    fn send_cut(
        &mut self,
        now: Time,
        endpoint: &Endpoint,
        to: SocketAddr,
        size: usize,
        ecn: Option<Ecn>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let message = size.min(bytes.len());
        if self.taken.is_none() {
            self.cut = self.path_mtu.cut(now, to, message);
        }
        if self.cut.is_none() && matches!(self.kind, Kind::Clear(_)) {
            let sent = endpoint.send(to, size, ecn, bytes)?;
            self.path_mtu.on_sent(now, to, message, sent.div_ceil(size.max(1)));
            return Ok(sent);
        }
        let from = match self.taken {
            Some(from) => from,
            None => {
                self.prepare(now, to, size, bytes);
                0
            }
        };
        self.taken = Some(from);
        if let Some(hello) = &self.hello {
            endpoint.send(to, hello.len(), None, hello)?;
            self.hello = None;
        }
        let plain = self.cut.map_or(size, FragmentCut::len);
        let (rest, long) = (self.sealed.get(from..).unwrap_or_default(), plain + self.overhead());
        let sent = endpoint.send(to, long, ecn, rest)?;
        self.path_mtu.on_sent(now, to, plain.min(rest.len()), sent.div_ceil(long));
        let is_all = sent >= rest.len();
        self.taken = Some(from + sent);
        let fragments = self.cut.map_or(1, |cut| cut.count);
        Ok(if is_all { bytes.len() } else { sent / long / fragments * size })
    }

    /// The batch as it goes out.
    fn prepare(&mut self, now: Time, to: SocketAddr, size: usize, bytes: &[u8]) {
        let Self { kind, sealed, hello, path_mtu, cut, .. } = self;
        let at = moment(now);
        sealed.clear();
        if let Kind::Sealed(seal) = kind {
            // It tells the number of the first of them.
            *hello = seal.greet(at, to);
        }
        let mut put = |message: &[u8]| match kind {
            Kind::Clear(_) => sealed.extend_from_slice(message),
            Kind::Sealed(seal) => {
                seal.seal(at, message, sealed);
            }
        };
        for message in bytes.chunks(size.max(1)) {
            match cut {
                None => put(message),
                Some(cut) => cut.fragment(path_mtu.next_id(), message, &mut put),
            }
        }
    }

    /// Gives `each` the datagrams of one message that goes out by another socket than [`Self::send`]'s.
    pub fn seal_one(
        &mut self,
        now: Time,
        to: SocketAddr,
        message: &[u8],
        mut each: impl FnMut(&[u8]),
    ) {
        let Kind::Sealed(seal) = &mut self.kind else { return each(message) };
        let at = moment(now);
        if let Some(hello) = seal.greet(at, to) {
            each(&hello);
        }
        let mut sealed = Vec::new();
        seal.seal(at, message, &mut sealed);
        each(&sealed);
    }

    /// Gives `each` what is in a run of datagrams, in pieces as long as can be.
    pub fn open(
        &mut self,
        now: Time,
        source: SocketAddr,
        run: &[u8],
        stride: usize,
        each: impl FnMut(&[u8], usize),
    ) {
        self.open_for(DatagramScope::Group, now, source, run, stride, each);
    }

    /// The same. What goes to all hosts may be for those of another group, with another key.
    pub fn open_for(
        &mut self,
        whom: DatagramScope,
        now: Time,
        source: SocketAddr,
        run: &[u8],
        stride: usize,
        mut each: impl FnMut(&[u8], usize),
    ) {
        let path_mtu = &mut self.path_mtu;
        let mut each =
            |run: &[u8], stride: usize| path_mtu.take(now, source, run, stride, &mut each);
        let seal = match &mut self.kind {
            Kind::Clear(keyless) => {
                let is_sealed = match whom {
                    DatagramScope::Group => keyless.is_sealed(run),
                    DatagramScope::AllHosts => Keyless::is_sealed_call(run),
                };
                // A run is of one sender.
                if !is_sealed {
                    each(run, stride);
                }
                return;
            }
            Kind::Sealed(seal) => seal,
        };
        let (at, opened) = (moment(now), &mut self.opened);
        opened.clear();
        let plain = stride.saturating_sub(seal.overhead());
        for datagram in run.chunks(stride.max(1)) {
            let start = opened.len();
            let _ = match whom {
                DatagramScope::Group => seal.open(at, source, datagram, opened),
                DatagramScope::AllHosts => seal.open_call(at, source, datagram, opened),
            };
            let len = opened.len() - start;
            if len > 0 && len < plain {
                // Nothing can follow it in one piece.
                each(opened, plain);
                opened.clear();
            }
        }
        if !opened.is_empty() {
            each(opened, plain);
        }
    }

    /// Says what is to be said beside messages, and takes new keys when it is time.
    pub fn advance(&mut self, now: Time, endpoint: &Endpoint) {
        self.path_mtu.advance(now);
        while let Some((to, message)) = self.path_mtu.poll_message() {
            // It goes at once and whole: what is lost, or refused, is a sign, too.
            self.seal_one(now, to, &message, |datagram| {
                let _ = endpoint.send(to, datagram.len().max(1), None, datagram);
            });
        }
        let Kind::Sealed(seal) = &mut self.kind else { return };
        let at = moment(now);
        if let Some(keys) = self.follower.as_mut().and_then(|follower| follower.poll(now)) {
            seal.rekey(now, keys);
        }
        if seal.needs_salt(at)
            && let Some(salt) = system_salt()
        {
            seal.renew(salt);
        }
        while let Some((to, hello)) = seal.poll(at) {
            // A lost one is asked for again.
            let _ = endpoint.send(to, hello.len(), None, &hello);
        }
    }

    /// When [`Self::advance`] has something to say.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let keys = match &self.kind {
            Kind::Clear(_) => None,
            Kind::Sealed(seal) => {
                let look = self.follower.as_ref().map(|follower| follower.next);
                seal.next_timeout().into_iter().chain(look).min()
            }
        };
        keys.into_iter().chain(self.path_mtu.next_timeout()).min()
    }

    /// A host whose path has a smaller MTU than this machine's, once for each.
    pub(crate) fn poll_short_path(&mut self) -> Option<ShortPath> {
        self.path_mtu.poll_news()
    }

    /// What people are to be told now of datagrams that were dropped.
    pub fn poll_notice(&mut self, now: Time) -> Option<Notice> {
        match &mut self.kind {
            Kind::Clear(keyless) => keyless.poll_notice(now),
            Kind::Sealed(seal) => seal.poll_notice(now),
        }
    }
}

/// EMSGSIZE of Linux, and of the BSDs: a datagram is longer than the link or the path takes.
fn is_too_long(error: &io::Error) -> bool {
    let number = if cfg!(any(target_os = "linux", target_os = "android")) { 90 } else { 40 };
    // Winsock's WSAEMSGSIZE.
    error.raw_os_error().is_some_and(|raw| raw == if cfg!(windows) { 10_040 } else { number })
}

fn salt() -> Result<fanfare_crypto::Salt, JoinError> {
    let none = || io::Error::other("it has no random bytes to give");
    system_salt().ok_or_else(|| JoinError::System(none()))
}

fn moment(now: Time) -> Moment {
    Moment { now, clock: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use fanfare_udp::{EndpointConfig, Role};

    use super::*;

    fn endpoint() -> Endpoint {
        let group = SocketAddr::from(([127, 0, 0, 1], 0));
        Endpoint::open(&EndpointConfig { group, role: Role::Sender, ..EndpointConfig::default() })
            .unwrap()
    }

    fn sealed(secret: u8) -> Sealed {
        let keys = Keys::new(vec![Key::from_secret([secret; 32], 1)], Form::Long);
        Sealed::new(Some(&keys), SocketAddr::from(([10, 0, 0, 1], 6003)), false).unwrap()
    }

    #[test]
    fn a_run_that_opens_comes_in_one_piece_and_what_does_not_is_left_out() {
        let (endpoint, source) = (endpoint(), SocketAddr::from(([10, 0, 0, 2], 1)));
        let to = endpoint.local_addr().unwrap();
        let (mut one, mut other) = (sealed(1), sealed(1));
        let messages: Vec<u8> = (0..95).collect();
        let Kind::Sealed(seal) = &mut one.kind else { panic!("sealed") };
        let hello = seal.hello(moment(Time::ZERO), None);
        let sent = one.send(Time::ZERO, &endpoint, to, 10, None, &messages);
        assert_eq!(sent.unwrap(), 95);
        other.open(Time::ZERO, source, &hello, hello.len(), |_, _| panic!("nothing in it"));
        let mut run = one.sealed.clone();
        assert_eq!(run.len(), 9 * 34 + 29);
        run[2 * 34 + 20] ^= 1;
        let mut pieces = Vec::new();
        other.open(Time::ZERO, source, &run, 34, |run, stride| {
            pieces.push((run.to_vec(), stride));
        });
        let left: Vec<u8> = (0..95).filter(|n| !(20..30).contains(n)).collect();
        assert_eq!(pieces, [(left, 10)]);
    }

    #[test]
    fn what_goes_to_all_hosts_and_does_not_open_is_for_others_and_nobody_is_told() {
        let source = SocketAddr::from(([10, 0, 0, 2], 1));
        let mut others = Vec::new();
        sealed(2)
            .seal_one(Time::ZERO, source, &[1; 400], |datagram| others.push(datagram.to_vec()));
        others.push(vec![0x12; 60]);
        for (whom, told) in [(DatagramScope::AllHosts, false), (DatagramScope::Group, true)] {
            let mut ours = sealed(1);
            let mut clear = Sealed::new(None, source, false).unwrap();
            for datagram in &others {
                let (run, stride) = (&datagram[..], datagram.len());
                ours.open_for(whom, Time::ZERO, source, run, stride, |_, _| {
                    panic!("of another key")
                });
                clear.open_for(whom, Time::ZERO, source, run, stride, |opened, _| {
                    assert_eq!(opened, [0x12; 60]);
                });
            }
            assert_eq!(ours.poll_notice(Time::ZERO).is_some(), told);
            assert_eq!(clear.poll_notice(Time::ZERO).is_some(), told);
            // Nor is anything answered.
            let Kind::Sealed(seal) = &mut ours.kind else { panic!("sealed") };
            let answer = seal.poll(moment(Time::ZERO));
            assert!(told || answer.is_none());
        }
    }

    /// Gives another key from the second look on.
    #[derive(Debug, Default)]
    struct Changing(std::sync::atomic::AtomicU64);

    impl KeySource for Changing {
        fn newer(&self, known: u64) -> Option<(u64, Vec<Key>)> {
            let looks = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            (looks > 0 && known == 0).then(|| (1, vec![Key::from_secret([2; 32], 2)]))
        }
    }

    #[test]
    fn a_key_that_changes_is_looked_for_once_a_second_and_then_spoken_with() {
        let endpoint = endpoint();
        let first = vec![Key::from_secret([1; 32], 1)];
        let changing = Arc::new(Changing::default());
        let keys = Keys::new(first, Form::Long).following(changing.clone());
        let group = SocketAddr::from(([10, 0, 0, 1], 6003));
        let mut sealed = Sealed::new(Some(&keys), group, false).unwrap();
        let mut speaks = Vec::new();
        for second in 0..10 {
            let now = Time::ZERO + Duration::from_secs(second);
            sealed.advance(now, &endpoint);
            sealed.advance(now, &endpoint);
            assert!(sealed.next_timeout().is_some_and(|at| at <= now + LOOK));
            let Kind::Sealed(seal) = &sealed.kind else { panic!("sealed") };
            speaks.push(seal.key_id() == Key::from_secret([2; 32], 2).id());
        }
        assert_eq!(changing.0.load(std::sync::atomic::Ordering::Relaxed), 10);
        assert_eq!(speaks.iter().position(|new| *new), Some(4), "three seconds after it was found");
    }

    #[test]
    fn without_a_key_what_is_sealed_is_left_out_and_told() {
        let source = SocketAddr::from(([10, 0, 0, 2], 1));
        let mut clear = Sealed::new(None, source, false).unwrap();
        clear.open(Time::ZERO, source, &[0x08; 60], 60, |_, _| panic!("sealed"));
        assert_eq!(clear.poll_notice(Time::ZERO), Some(Notice::NoKey(1)));
        let mut came = 0;
        clear.open(Time::ZERO, source, &[0x12; 60], 60, |run, _| came += run.len());
        assert_eq!((came, clear.poll_notice(Time::ZERO)), (60, None));
    }
}
