//! What the two ends say first: who they are this time, and whether they met before.
//!
//! ```text
//! hello (34 bytes)   version 1, flags, instance (16), the other end's instance as known (16)
//! ```
//! A process draws its instance at its start. Both ends go on with what they had when each of them is
//! the one that the other remembers; otherwise they begin anew.

use quinn::{RecvStream, SendStream};

use crate::kind::STREAM_CONTROL;

/// Drawn by each process at its start.
pub type Instance = [u8; 16];

/// This version.
const VERSION: u8 = 1;
/// Length of a hello.
pub(crate) const BYTES: usize = 34;

/// What each end says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// This process.
    pub instance: Instance,
    /// The other end's process as this end knows it; zeros before they met.
    pub known: Instance,
}

impl Hello {
    pub(crate) fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = VERSION;
        bytes[2..18].copy_from_slice(&self.instance);
        bytes[18..].copy_from_slice(&self.known);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; BYTES]) -> Option<Self> {
        let (instance, known) = (bytes[2..18].try_into().ok()?, bytes[18..].try_into().ok()?);
        (bytes[0] == VERSION && instance != [0; 16]).then_some(Self { instance, known })
    }

    /// Whether the two go on where they were.
    pub(crate) fn resumes(self, other: Self) -> bool {
        self.known == other.instance && other.known == self.instance
    }
}

/// The end that dialled speaks first. `None` when the other one is no node of ours.
///
/// It waits for the answer: before that nobody knows whether the other end accepts this key.
pub(crate) async fn dialled(
    connection: &quinn::Connection,
    own: Hello,
) -> Option<(Hello, SendStream, RecvStream)> {
    let (mut send, mut recv) = connection.open_bi().await.ok()?;
    send.write_all(&[STREAM_CONTROL]).await.ok()?;
    send.write_all(&own.bytes()).await.ok()?;
    let mut bytes = [0; BYTES];
    recv.read_exact(&mut bytes).await.ok()?;
    Some((Hello::parse(&bytes)?, send, recv))
}

/// The end that was dialled answers; `own` says what it knows of an instance.
pub(crate) async fn accepted(
    connection: &quinn::Connection,
    own: Hello,
) -> Option<(Hello, SendStream, RecvStream)> {
    let (mut send, mut recv) = connection.accept_bi().await.ok()?;
    let (mut kind, mut bytes) = ([0; 1], [0; BYTES]);
    recv.read_exact(&mut kind).await.ok()?;
    recv.read_exact(&mut bytes).await.ok()?;
    let theirs = Hello::parse(&bytes).filter(|_| kind == [STREAM_CONTROL])?;
    send.write_all(&own.bytes()).await.ok()?;
    Some((theirs, send, recv))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_go_on_only_when_each_is_the_one_that_the_other_remembers() {
        let hello = |instance, known| Hello { instance: [instance; 16], known: [known; 16] };
        assert!(hello(1, 2).resumes(hello(2, 1)));
        assert!(!hello(1, 2).resumes(hello(3, 1)));
        assert!(!hello(1, 2).resumes(hello(2, 9)));
        assert!(!hello(1, 0).resumes(hello(2, 0)));
    }

    #[test]
    fn another_version_is_refused() {
        let hello = Hello { instance: [1; 16], known: [0; 16] };
        assert_eq!(Hello::parse(&hello.bytes()), Some(hello));
        let mut other = hello.bytes();
        other[0] = 2;
        assert_eq!(Hello::parse(&other), None);
        assert_eq!(Hello::parse(&[0; BYTES]), None);
    }
}
