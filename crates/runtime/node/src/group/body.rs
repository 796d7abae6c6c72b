//! What a message holds: short ones in memory, long ones in a file that vanishes with them.

use fanfare_udp::os::file::FileExt;
use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::Arc,
};

use crate::disk::unnamed_file;
use fanfare_messaging::ContentHash;

use super::keeper::Files;

/// Bytes that are kept in memory: most messages; of longer ones a thousand would be 64 MiB.
pub(crate) const MEMORY_MAX: u64 = 64 << 10;
/// Bytes copied at once.
const COPY_BYTES: usize = 256 << 10;

/// The bytes of a message. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Body {
    pub(crate) content: Content,
    size: u64,
    /// Where it is known already: what travels in a description has none.
    hash: Option<ContentHash>,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Memory(Arc<Vec<u8>>),
    File(Arc<File>),
}

/// Why bytes are no message.
#[derive(Debug)]
pub enum BodyError {
    /// They are more than may be.
    TooLarge {
        /// The limit.
        max: u64,
    },
    /// They could not be read.
    Unreadable(io::Error),
    /// There is no room for them here.
    Spool(io::Error),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { max } => write!(
                f,
                "message (more than {max} bytes): is longer than messages may be. Raise \
                 --message-max here and at subscribers, or use fanfare send"
            ),
            Self::Unreadable(error) => {
                write!(f, "message: cannot be read ({error}). Give another file")
            }
            Self::Spool(error) => write!(
                f,
                "message: cannot be kept in the directory for temporary files ({error}). Make \
                 room there, or set TMPDIR"
            ),
        }
    }
}

impl std::error::Error for BodyError {}

impl Body {
    /// Of bytes in memory.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self { content: Content::Memory(Arc::new(bytes)), size, hash: None }
    }

    /// Of all that `reader` gives, if that is not more than `max` bytes.
    ///
    /// # Errors
    /// Too much, not readable, or no room for it.
    pub fn read_from(reader: &mut dyn Read, max: u64) -> Result<Self, BodyError> {
        let mut start = Vec::new();
        let mut limited = reader.take(max.saturating_add(1));
        limited
            .by_ref()
            .take(MEMORY_MAX + 1)
            .read_to_end(&mut start)
            .map_err(BodyError::Unreadable)?;
        if start.len() as u64 > max {
            return Err(BodyError::TooLarge { max });
        }
        if start.len() as u64 <= MEMORY_MAX {
            return Ok(Self::new(start));
        }
        Self::spool(start, &mut limited, max)
    }

    fn spool(mut bytes: Vec<u8>, rest: &mut dyn Read, max: u64) -> Result<Self, BodyError> {
        let mut file = unnamed_file().map_err(BodyError::Spool)?;
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0);
        while !bytes.is_empty() {
            size += bytes.len() as u64;
            if size > max {
                return Err(BodyError::TooLarge { max });
            }
            hasher.update(&bytes);
            file.write_all(&bytes).map_err(BodyError::Spool)?;
            bytes.clear();
            rest.take(COPY_BYTES as u64).read_to_end(&mut bytes).map_err(BodyError::Unreadable)?;
        }
        let hash = begin(hasher.finalize());
        Ok(Self { content: Content::File(Arc::new(file)), size, hash: Some(hash) })
    }

    /// The same in a file of the durable cache, if it is long, and that file's name.
    pub(crate) fn kept_in(self, files: &Files) -> io::Result<(Self, Option<String>)> {
        if self.size <= MEMORY_MAX {
            return Ok((self, None));
        }
        let (mut file, name) = files.create()?;
        if let Err(error) = self.copy_to(&mut file).and_then(|()| file.sync_all()) {
            files.remove(&name);
            return Err(error);
        }
        Ok((Self { content: Content::File(Arc::new(file)), ..self }, Some(name)))
    }

    /// Of bytes in memory, whoever else has them.
    pub(crate) fn of(content: Content) -> Self {
        let size = match &content {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::File(_) => 0,
        };
        Self { content, size, hash: None }
    }

    /// Of bytes that are known to have this hash.
    pub(crate) fn known(content: Content, size: u64, hash: ContentHash) -> Self {
        Self { content, size, hash: Some(hash) }
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.size
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The first 128 bits of their BLAKE3 hash.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        // Of a file it is known.
        self.hash.or_else(|| self.content.hash().ok()).unwrap_or_default()
    }

    /// Them in memory, if they are short enough to be there already.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Memory(bytes) => Some(bytes),
            Content::File(_) => None,
        }
    }

    /// All of it, in memory.
    ///
    /// # Errors
    /// It is in a file that cannot be read.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes all of them.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = match &self.content {
            Content::Memory(bytes) => return out.write_all(bytes),
            Content::File(file) => file,
        };
        let (mut buffer, mut at) = (vec![0; COPY_BYTES], 0);
        while at < self.size {
            let count = usize::try_from(self.size - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
            file.read_exact_at(&mut buffer[..count], at)?;
            out.write_all(&buffer[..count])?;
            at += count as u64;
        }
        Ok(())
    }
}

impl Content {
    /// The first 128 bits of BLAKE3 of all that is there.
    pub(crate) fn hash(&self) -> io::Result<ContentHash> {
        match self {
            Self::Memory(bytes) => Ok(hash_of(bytes)),
            Self::File(file) => {
                // Another handle has another place in the file.
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(0))?;
                Ok(begin(blake3::Hasher::new().update_reader(&mut file)?.finalize()))
            }
        }
    }
}

/// The first 128 bits of BLAKE3 of these bytes.
pub(crate) fn hash_of(bytes: &[u8]) -> ContentHash {
    begin(blake3::hash(bytes))
}

/// As much of a hash as messages tell.
fn begin(hash: blake3::Hash) -> ContentHash {
    let mut begin = ContentHash::default();
    begin.copy_from_slice(&hash.as_bytes()[..size_of::<ContentHash>()]);
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &[u8], max: u64) -> Result<Vec<u8>, BodyError> {
        let body = Body::read_from(&mut &bytes[..], max)?;
        assert_eq!(body.hash(), blake3::hash(bytes).as_bytes()[..16]);
        assert_eq!(body.content.hash().unwrap(), body.hash());
        let mut out = Vec::new();
        body.copy_to(&mut out).unwrap();
        Ok(out)
    }

    #[test]
    fn bytes_come_back_from_memory_and_from_a_file() {
        for size in [0, 5, 65_536, 65_537, 1_000_000] {
            let bytes: Vec<u8> = (0..size).map(|n: u32| (n % 251) as u8).collect();
            assert!(taken(&bytes, 1_000_000).unwrap() == bytes, "{size}");
        }
    }

    #[test]
    fn more_than_the_limit_is_refused_wherever_the_limit_lies() {
        for max in [0, 100, 70_000] {
            let bytes = vec![1; max as usize + 1];
            assert!(matches!(taken(&bytes, max), Err(BodyError::TooLarge { .. })), "{max}");
            assert!(taken(&bytes[1..], max).is_ok(), "{max}");
        }
    }
}
