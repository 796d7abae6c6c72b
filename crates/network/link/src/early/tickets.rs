//! Tickets that this end may use, and the file that keeps them from one process to the next.
//!
//! ```text
//! fanfare tickets 1
//! ed25519:KEY ID SECRET DRAWN        a line for each peer; DRAWN in ms since 1970
//! ```
//! Only its owner may read it. A file that others may read is not used. A ticket is taken out of the
//! file before it is used.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use fanfare_crypto::{
    PublicKey,
    hex::{from_hex, to_hex},
};

use super::{register::LIFETIME, ticket::Ticket};

const TITLE: &str = "fanfare tickets 1";
/// Peers with a ticket: with more, the oldest one goes.
pub(crate) const TICKETS_MAX: usize = 64;
/// Longer is no file of ours: a line has less than 256 bytes.
const LONGEST: u64 = 256 * (TICKETS_MAX as u64 + 1);

/// One ticket a peer.
#[derive(Debug, Default)]
pub struct Tickets {
    /// When it was drawn, since 1970.
    all: BTreeMap<PublicKey, (Duration, Ticket)>,
    file: Option<PathBuf>,
}

impl Tickets {
    /// Kept in this file.
    ///
    /// # Errors
    /// When there is one that cannot be read, or that others may read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let all = match File::open(path) {
            Ok(file) => read(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { all, file: Some(path.to_owned()) })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// There is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One that was drawn now.
    pub(crate) fn put(&mut self, peer: PublicKey, wall: Duration, ticket: Ticket) {
        self.all.insert(peer, (wall, ticket));
        if self.all.len() > TICKETS_MAX {
            let oldest = self.all.iter().min_by_key(|(_, (drawn, _))| *drawn).map(|(key, _)| *key);
            oldest.and_then(|key| self.all.remove(&key));
        }
        // Without it the next process waits one round trip more.
        let _ = self.save();
    }

    /// Takes the ticket for this peer out, and when it was drawn; `None` when it is too old, or could be
    /// used again.
    pub(crate) fn take(&mut self, wall: Duration, peer: &PublicKey) -> Option<(Duration, Ticket)> {
        let (drawn, ticket) = self.all.remove(peer)?;
        self.save().ok()?;
        (wall >= drawn && wall - drawn < LIFETIME).then_some((drawn, ticket))
    }

    fn save(&self) -> io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut text = format!("{TITLE}\n");
        for (peer, (drawn, ticket)) in &self.all {
            let (id, secret) = (to_hex(&ticket.id), to_hex(&ticket.secret));
            let _ = writeln!(text, "{peer} {id} {secret} {}", drawn.as_millis());
        }
        // The file is whole at any moment. Two processes do not write into one.
        let new = path.with_extension(format!("new{}", std::process::id()));
        let _ = fs::remove_file(&new);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&new).and_then(|mut file| file.write_all(text.as_bytes()));
        let written = written.and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

fn read(file: File) -> io::Result<BTreeMap<PublicKey, (Duration, Ticket)>> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata()?);
        if mode & 0o077 != 0 {
            let why = format!("others may read or change it (mode {:03o})", mode & 0o777);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    let mut lines = text.lines();
    if lines.next() != Some(TITLE) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file of tickets"));
    }
    // A line that cannot be read costs its peer a round trip.
    Ok(lines.take(TICKETS_MAX).filter_map(line).collect())
}

fn line(text: &str) -> Option<(PublicKey, (Duration, Ticket))> {
    let mut words = text.split(' ');
    let peer = words.next()?.parse().ok()?;
    let (id, secret) = (from_hex(words.next()?)?, from_hex(words.next()?)?);
    let drawn = Duration::from_millis(words.next()?.parse().ok()?);
    Some((peer, (drawn, Ticket { id, secret })))
}
