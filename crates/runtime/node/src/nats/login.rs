//! How to come in: servers, and what they are to be told. Secrets are never shown.

use std::{fmt, path::PathBuf, time::Duration};

use async_nats::{ConnectOptions, ServerAddr};

use crate::nats::error::NatsError;

/// Between attempts: as little as a server that restarts notices, as much as one that is gone needs.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Messages of a subscription that wait in the client. It must never be full: what async-nats 0.51 drops then it tells
/// by events of which 128 wait at most, so that nobody knows how many there were. It reads at most 128 times in a row
/// before it lets others have their turn (tokio's budget of a task), 64 KiB at a time, and a message has 13 bytes at
/// least (`MSG a 1 0` and two line ends): fewer than 650,000.
const SUBSCRIPTION_CAPACITY: usize = 1 << 20;
/// How often the server is asked whether it is there: after two of them without an answer the
/// connection counts as lost.
const PING: Duration = Duration::from_secs(10);

/// Servers of one NATS, any of which will do.
#[derive(Clone)]
pub struct Servers(pub(crate) Vec<ServerAddr>);

impl Servers {
    /// Reads addresses with commas between: `nats://hq:4222,tls://hq2:4222`.
    ///
    /// # Errors
    /// Which is no address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parse = |one: &str| one.trim().parse::<ServerAddr>().map_err(|_| without_login(one));
        Ok(Self(text.split(',').map(parse).collect::<Result<_, _>>()?))
    }
}

impl Servers {
    /// The first that is in an address, as it is written there.
    fn login(&self) -> Option<(String, String)> {
        let one = self.0.iter().find(|server| server.has_user_pass())?;
        Some((one.username()?.to_owned(), one.password().unwrap_or_default().to_owned()))
    }
}

/// A text that may hold a password, without it.
fn without_login(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
            format!("{scheme}…@{host}")
        }
        None => text.to_owned(),
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, one) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{}://{}:{}", one.scheme(), one.host(), one.port())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({self})")
    }
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Who this is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identity {
    /// Nobody in particular, or what the address says.
    #[default]
    None,
    /// A user and the password.
    User(String, Secret),
    /// A token.
    Token(Secret),
    /// What a creds file holds: a JWT, and the seed that goes with it.
    Creds(Secret),
    /// The seed of an NKey.
    NKey(Secret),
}

/// Certificates.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Without TLS there is no connection.
    pub required: bool,
    /// Authorities in this file, besides the system's.
    pub authorities: Option<PathBuf>,
    /// This side's certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// How to come in.
#[derive(Debug, Clone)]
pub struct Login {
    /// Where.
    pub servers: Servers,
    /// As whom.
    pub identity: Identity,
    /// How it is secured.
    pub tls: Tls,
    /// Longest for one attempt.
    pub timeout: Duration,
    /// A server that is not there at the beginning is waited for.
    pub keep_trying: bool,
}

impl Login {
    /// As the client wants it.
    pub(crate) fn options(&self) -> Result<ConnectOptions, NatsError> {
        let mut options = ConnectOptions::new()
            .name("fanfare bridge")
            .no_echo()
            .ping_interval(PING)
            .connection_timeout(self.timeout)
            .subscription_capacity(SUBSCRIPTION_CAPACITY)
            .reconnect_delay_callback(delay)
            .require_tls(self.tls.required);
        options = match &self.identity {
            // The client passes over what an address says.
            Identity::None => match self.servers.login() {
                Some((user, password)) => options.user_and_password(user, password),
                None => options,
            },
            Identity::User(user, Secret(password)) => {
                options.user_and_password(user.clone(), password.clone())
            }
            Identity::Token(Secret(token)) => options.token(token.clone()),
            Identity::NKey(Secret(seed)) => options.nkey(seed.trim().to_owned()),
            Identity::Creds(Secret(text)) => {
                options.credentials(text).map_err(|error| NatsError::Creds(error.to_string()))?
            }
        };
        if let Some(path) = &self.tls.authorities {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.tls.own {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        if self.keep_trying {
            options = options.retry_on_initial_connect();
        }
        Ok(options)
    }
}

/// At once, then ever more seldom.
fn delay(attempts: usize) -> Duration {
    match attempts {
        0 | 1 => Duration::ZERO,
        more => RETRY_MAX.min(Duration::from_millis(100 << more.min(10))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown() {
        let secret = || Secret::new("hunter2".into());
        let servers = Servers::parse("nats://bob:hunter2@hq:4222, tls://other").unwrap();
        assert_eq!(servers.to_string(), "nats://hq:4222,tls://other:4222");
        assert_eq!(Servers::parse("nats://bob:hunter2@hq:port").unwrap_err(), "nats://…@hq:port");
        let identities = [
            Identity::User("bob".into(), secret()),
            Identity::Token(secret()),
            Identity::Creds(secret()),
            Identity::NKey(secret()),
        ];
        for identity in identities {
            let (servers, tls) = (servers.clone(), Tls::default());
            let timeout = Duration::from_secs(1);
            let login = Login { servers, identity, tls, timeout, keep_trying: false };
            assert!(!format!("{login:?}").contains("hunter2"), "{login:?}");
            if let Err(error) = login.options() {
                assert!(!error.to_string().contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn attempts_come_ever_more_seldom_but_never_stop() {
        let delays: Vec<_> = [1, 2, 3, 5, 6, 100, 100_000].into_iter().map(delay).collect();
        assert!(delays.is_sorted(), "{delays:?}");
        assert_eq!((delays[0], *delays.last().unwrap()), (Duration::ZERO, RETRY_MAX));
    }
}
