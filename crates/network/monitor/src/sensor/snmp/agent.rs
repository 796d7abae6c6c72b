//! One agent: it is asked, and asked again when it is slow.

use std::{
    fmt, io,
    net::{SocketAddr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use super::{
    ber::{Name, Value},
    message::{self, Answer},
    pace::{Found, RenewalHunt, RenewalPace},
    table::{self, AgentReport, Table, TableSnapshot},
};

/// An answer is waited for so long, and the question is asked so many times.
const PATIENCE: Duration = Duration::from_secs(1);
const TRIES: u32 = 3;
/// Rows in one answer: eleven columns of ten fit into a packet of Ethernet at most agents.
const ROWS: u32 = 10;
/// Rows of a table that are read.
const ROWS_MAX: usize = 4096;
/// Numbers that stand still begin a new span after so long: few agents renew theirs more seldom.
const STILL_MAX: Duration = Duration::from_secs(120);
/// The longest datagram.
const ANSWER_MAX: usize = 65_535;

/// Why an agent has told nothing.
#[derive(Debug)]
pub enum SnmpError {
    /// It does not answer. With another community agents do not answer, either.
    Silent(SocketAddr),
    /// It answers with this number of an error.
    Refused(SocketAddr, u64),
    /// Names do not grow: it would be asked for ever.
    Circle(SocketAddr),
    /// The system refuses.
    System(SocketAddr, io::Error),
}

impl fmt::Display for SnmpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(address) => write!(
                f,
                "snmp ({address}): does not answer. Check the address, its firewall, and the community"
            ),
            Self::Refused(address, error) => {
                write!(f, "snmp ({address}): refuses with error {error} of RFC 3416")
            }
            Self::Circle(address) => {
                write!(f, "snmp ({address}): gives names that do not grow. Its agent is broken")
            }
            Self::System(address, error) => write!(f, "snmp ({address}): {error}"),
        }
    }
}

impl std::error::Error for SnmpError {}

/// An agent that is asked now and then.
#[derive(Debug)]
pub struct Agent {
    address: SocketAddr,
    community: String,
    socket: UdpSocket,
    id: u32,
    every: Duration,
    begun: Instant,
    pace: RenewalPace,
    /// What it told last, since when it stands so, and the counters that are asked for until they change.
    before: Option<TableSnapshot>,
    since: Duration,
    watched: Vec<Name>,
    /// It is known of which moment `before` is.
    is_dated: bool,
}

impl Agent {
    /// At this address, with this community. It is asked about once in `every`.
    pub fn new(address: SocketAddr, community: &str, every: Duration) -> Result<Self, SnmpError> {
        let failed = |error| SnmpError::System(address, error);
        let any = match address {
            SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
        };
        let socket = UdpSocket::bind(any).map_err(failed)?;
        socket.connect(address).map_err(failed)?;
        // Answers to questions of a process before are told by their numbers.
        let id = std::process::id() & 0x7fff << 8;
        Ok(Self {
            address,
            community: community.to_owned(),
            socket,
            id,
            every,
            begun: Instant::now(),
            pace: RenewalPace::default(),
            before: None,
            since: Duration::ZERO,
            watched: Vec::new(),
            is_dated: false,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All of its interfaces, with rates since the last time. It waits until the agent has new numbers:
    /// the first answer comes at once, and has no rates.
    pub fn read(&mut self) -> Result<AgentReport, SnmpError> {
        let done = self.read_in_time();
        if done.is_err() {
            // Whoever answers next may be another: what was known of it is of no use.
            self.pace = RenewalPace::default();
            self.before = None;
        }
        done
    }

    fn read_in_time(&mut self) -> Result<AgentReport, SnmpError> {
        let Some(before) = self.before.take() else {
            let first = self.table(None)?;
            self.is_dated = false;
            return Ok(self.keep(None, first));
        };
        let due = self.since + self.every;
        if self.watched.is_empty() {
            self.sleep_until(due);
            let next = self.table(None)?;
            return Ok(self.keep(None, next));
        }
        if self.is_dated {
            self.sleep_until(self.pace.begin(due, self.every));
        }
        let found = self.hunt()?;
        let renewed = match found {
            Found::Renewed(at) => Some(at),
            Found::Live | Found::Still | Found::AskIn(_) => None,
        };
        if renewed.is_none() {
            // It was so at the time when it was told, or it is so still.
            self.is_dated = true;
            self.sleep_until(due);
        }
        let mut next = self.table(renewed)?;
        if self.is_dated {
            next.measure(&before);
        }
        self.is_dated = true;
        if found == Found::Still && next.is_as(&before) && self.now() - self.since < STILL_MAX {
            // Agents that renew their numbers more seldom than we wait have not begun a new span.
            self.before = Some(before);
            return Ok(next.report);
        }
        Ok(self.keep(Some(&before), next))
    }

    /// Remembers what the agent has told.
    fn keep(&mut self, before: Option<&TableSnapshot>, next: TableSnapshot) -> AgentReport {
        self.since = self.now();
        self.watched = next.busiest(before);
        let report = next.report.clone();
        self.before = Some(next);
        report
    }

    /// Asks for the busiest counters until they change.
    fn hunt(&mut self) -> Result<Found, SnmpError> {
        let mut hunt = RenewalHunt::new(self.now());
        loop {
            let names = self.watched.clone();
            let told = match self.ask(|community, id| message::get(community, id, &names)) {
                Ok(answer) => answer.values,
                // It does not answer such questions. The table is then read as it is.
                Err(SnmpError::Refused(..)) => return Ok(Found::Live),
                Err(error) => return Err(error),
            };
            if told.iter().all(|(_, value)| *value == Value::Absent) {
                // The rows have gone, or have other numbers now.
                return Ok(Found::Live);
            }
            let at = self.now();
            match hunt.on_answer(&mut self.pace, at, told) {
                Found::AskIn(wait) => thread::sleep(wait),
                found => return Ok(found),
            }
        }
    }

    fn table(&mut self, renewed: Option<Duration>) -> Result<TableSnapshot, SnmpError> {
        let mut table = Table::default();
        let uptime =
            self.ask(|community, id| message::next(community, id, &[table::before_uptime()]))?;
        for (name, value) in &uptime.values {
            table.on_value(name, value, self.now());
        }
        for column in table::columns() {
            self.walk(&mut table, &column)?;
        }
        Ok(table.finish(renewed))
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn sleep_until(&self, at: Duration) {
        thread::sleep(at.saturating_sub(self.now()));
    }

    /// One column from its start to its end.
    fn walk(&mut self, table: &mut Table, column: &Name) -> Result<(), SnmpError> {
        let mut last = column.clone();
        loop {
            let from = last.clone();
            let answer =
                self.ask(|community, id| message::bulk(community, id, 0, ROWS, &[from]))?;
            if answer.values.is_empty() {
                return Ok(());
            }
            for (name, value) in &answer.values {
                if !name.starts_with(column) || *value == Value::Absent {
                    return Ok(());
                }
                if *name <= last {
                    return Err(SnmpError::Circle(self.address));
                }
                last.clone_from(name);
                table.on_value(name, value, self.now());
            }
            if table.len() > ROWS_MAX {
                return Ok(());
            }
        }
    }

    fn ask(&mut self, request: impl FnOnce(&str, u32) -> Vec<u8>) -> Result<Answer, SnmpError> {
        self.id = (self.id + 1) & 0x7fff_ffff;
        let bytes = request(&self.community, self.id);
        let mut buffer = vec![0; ANSWER_MAX];
        for _ in 0..TRIES {
            if let Err(error) = self.socket.send(&bytes) {
                match error.kind() {
                    // Nobody was there a moment ago: perhaps somebody is now.
                    io::ErrorKind::ConnectionRefused => {}
                    _ => return Err(SnmpError::System(self.address, error)),
                }
            }
            if let Some(answer) = self.receive(&mut buffer)? {
                return match answer.error {
                    0 => Ok(answer),
                    error => Err(SnmpError::Refused(self.address, error)),
                };
            }
        }
        Err(SnmpError::Silent(self.address))
    }

    /// The answer with our number; others are late ones.
    fn receive(&self, buffer: &mut [u8]) -> Result<Option<Answer>, SnmpError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let failed = |error| SnmpError::System(self.address, error);
            self.socket.set_read_timeout(Some(left)).map_err(failed)?;
            match self.socket.recv(buffer) {
                Ok(length) => {
                    let answer = message::read(&buffer[..length]);
                    if let Some(answer) = answer.filter(|answer| answer.id == self.id) {
                        return Ok(Some(answer));
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Ok(None),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted => {}
                    _ => return Err(failed(error)),
                },
            }
        }
    }
}
