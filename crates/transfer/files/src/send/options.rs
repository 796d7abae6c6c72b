//! How to send, and what cannot be sent.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::content::{
    announcement::{Details, Follows, ObjectMark, Turn},
    invitation::ChainPlace,
    source::{SourceFile, Sources},
};
use fanfare_crypto::{Identity, Trusted};
use fanfare_proto::EnqueueError;

use super::{Expect, StartWait, slow::Slow};

/// 48 bits of size travel.
const OBJECT_MAX: u64 = (1 << 48) - 1;

/// Bytes of a signature below an announcement.
const SIGNATURE: usize = 64;

/// How to send.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// Who must get everything. Default anyone who answers.
    pub expect: Expect,
    /// Time that a receiver may be silent. Also the time to wait for receivers at the start, unless `start`
    /// says otherwise. Default 10 s.
    pub wait: Duration,
    /// Times to wait at the start, and for whom. Default for all of them as long as `wait`, from the beginning.
    pub start: Option<StartWait>,
    /// The place of this stream in a chain of streams: a receiver that wants another one does not take it.
    /// Default none.
    pub place: Option<ChainPlace>,
    /// Ask nobody anything and end when all has been sent. Default false.
    pub one_way: bool,
    /// Take the acknowledgement of a plain NORM receiver for complete. Default false: it is called
    /// unverified.
    pub accept_plain: bool,
    /// Send everything so many times more. Default 0.
    pub carousel: u32,
    /// Receivers are expected to have most of it: announce everything and send only what is asked
    /// for. Default false.
    pub sync: bool,
    /// What is done about receivers that get less than the others. Default they are kept.
    pub slow: Slow,
    /// What the sender calls itself. Default empty.
    pub name: String,
    /// Sign what is sent, so that receivers know whose it is, and ask them to sign their receipts. Default
    /// nothing is signed.
    pub identity: Option<Arc<Identity>>,
    /// Count only receipts that are signed by the receiver of that name here. Default all are counted.
    pub trusted: Option<Trusted>,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            expect: Expect::Anyone,
            wait: Duration::from_secs(10),
            start: None,
            place: None,
            one_way: false,
            accept_plain: false,
            carousel: 0,
            sync: false,
            slow: Slow::Keep,
            name: String::new(),
            identity: None,
            trusted: None,
        }
    }
}

/// Why a file was not taken for sending.
#[derive(Debug)]
pub struct EnqueueFailed {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: EnqueueError,
}

impl fmt::Display for EnqueueFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "file ({}): cannot be sent ({}). Rename or cut it",
            self.path.display(),
            self.error
        )
    }
}

impl std::error::Error for EnqueueFailed {}

/// A size must fit into its field, and a name into one segment, beside what else is announced; better said before the start.
pub(super) fn check_announcements(
    sources: &Sources,
    segment_size: u16,
    (rounds, signs): (u32, bool),
) -> Result<(), EnqueueFailed> {
    let max = usize::from(segment_size);
    let too_large = |file: &&SourceFile| file.size > OBJECT_MAX;
    if let Some(file) = sources.files.iter().find(too_large) {
        let error = EnqueueError::TooLarge { size: file.size, max: OBJECT_MAX };
        return Err(EnqueueFailed { path: file.path.clone(), error });
    }
    for file in &sources.files {
        // As it is announced with `sync`, where it is longest.
        let mut announcement = file.announcement();
        announcement.details = announcement.details.map(Details::to_be_read);
        if let Some(details) = announcement.details.as_mut().filter(|_| rounds > 0) {
            details.turn = Some(Turn { place: u64::MAX, objects: u64::MAX, rounds });
        }
        if let Some(details) = announcement.details.as_mut().filter(|d| d.comes_last()) {
            details.follows = Some(Follows { objects: u64::MAX, digest: [0; 32] });
        }
        if let Some(details) = &mut announcement.details {
            details.nonce = Some([0; 8]);
            details.signer = signs.then_some([0; 32]);
            details.of = Some(ObjectMark::LONGEST);
        }
        let bytes = announcement.encode().len() + if signs { SIGNATURE } else { 0 };
        if bytes > max {
            let error = EnqueueError::InfoTooLong { bytes, max };
            return Err(EnqueueFailed { path: file.path.clone(), error });
        }
    }
    Ok(())
}
