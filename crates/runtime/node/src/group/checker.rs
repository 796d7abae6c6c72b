//! Whether a message's bytes have the hash that its publisher announced: short ones at once, long
//! ones in a thread of their own.

use std::{
    io,
    sync::mpsc::{Receiver, Sender, channel},
};

use fanfare_messaging::ContentHash;
use fanfare_proto::ObjectKey;

use super::body::Content;
use crate::waker::Waker;

/// Bytes hashed where the protocol waits: a fifth of a millisecond at 5 GB/s.
const AT_ONCE_MAX: u64 = 1 << 20;

#[derive(Debug)]
struct Check {
    key: ObjectKey,
    content: Content,
    hash: ContentHash,
}

/// The thread and what goes to and fro.
#[derive(Debug)]
pub(crate) struct Checker {
    checks: Sender<Check>,
    verdicts: Receiver<(ObjectKey, bool)>,
}

impl Checker {
    pub(crate) fn start(waker: Waker) -> io::Result<Self> {
        let (checks, work) = channel::<Check>();
        let (told, verdicts) = channel();
        std::thread::Builder::new().name("fanfare-check".into()).spawn(move || {
            for check in work {
                let right = is_right(&check.content, check.hash);
                if told.send((check.key, right)).is_err() {
                    return;
                }
                waker.wake();
            }
        })?;
        Ok(Self { checks, verdicts })
    }

    /// Looks at it. Gives the verdict when that costs next to nothing, else it comes later.
    pub(crate) fn check(
        &self,
        key: ObjectKey,
        (content, size): (&Content, u64),
        hash: ContentHash,
    ) -> Option<bool> {
        if size > AT_ONCE_MAX {
            let check = Check { key, content: content.clone(), hash };
            if self.checks.send(check).is_ok() {
                return None;
            }
        }
        Some(is_right(content, hash))
    }

    /// The next verdict that has come.
    pub(crate) fn poll(&self) -> Option<(ObjectKey, bool)> {
        self.verdicts.try_recv().ok()
    }
}

fn is_right(content: &Content, hash: ContentHash) -> bool {
    content.hash().is_ok_and(|found| found == hash)
}
