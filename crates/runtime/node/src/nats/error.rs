//! Why there is no bridge.

use std::fmt;

use async_nats::ConnectErrorKind;

/// Why a bridge cannot begin, or cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NatsError {
    /// No server answers.
    Unreachable {
        /// Which.
        servers: String,
        /// What the system says.
        why: String,
    },
    /// The server does not let this in, or not any more.
    Denied {
        /// Which.
        servers: String,
    },
    /// The connection cannot be secured.
    Tls {
        /// Which.
        servers: String,
        /// What does not fit.
        why: String,
    },
    /// The text of credentials is none.
    Creds(String),
    /// There is no such stream.
    NoStream(String),
    /// There is no JetStream there.
    NoJetStream(String),
    /// A consumer of a stream cannot be had.
    Consumer {
        /// Which stream.
        stream: String,
        /// What the server says.
        why: String,
    },
    /// This machine has no thread for it.
    System(String),
}

impl NatsError {
    pub(crate) fn of_connect(servers: String, error: &async_nats::ConnectError) -> Self {
        let why = innermost(error);
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                Self::Denied { servers }
            }
            ConnectErrorKind::Tls => Self::Tls { servers, why },
            _ => Self::Unreachable { servers, why },
        }
    }
}

/// The first cause: what is around it only says that something failed.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

impl fmt::Display for NatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { servers, why } => write!(
                f,
                "nats ({servers}): does not answer ({why}). Start it, or give --keep-trying to wait \
                 for it"
            ),
            Self::Denied { servers } => write!(
                f,
                "nats ({servers}): does not let this in. Give other --user, --token-file, --creds or \
                 --nkey"
            ),
            Self::Tls { servers, why } => write!(
                f,
                "nats ({servers}): the connection cannot be secured ({why}). See --tls-ca and --tls-cert"
            ),
            Self::Creds(why) => {
                write!(f, "creds: are no credentials ({why}). Give the file that nsc has made")
            }
            Self::NoStream(stream) => write!(
                f,
                "stream ({stream}): there is none of that name. Make it with the subjects that the \
                 bridge publishes to"
            ),
            Self::NoJetStream(why) => write!(
                f,
                "stream: JetStream does not answer ({why}). Enable it at the server and for the account"
            ),
            Self::Consumer { stream, why } => {
                write!(f, "stream ({stream}): gives no consumer ({why}). Give another --durable")
            }
            Self::System(why) => write!(f, "bridge: this machine refuses a thread ({why})"),
        }
    }
}

impl std::error::Error for NatsError {}
