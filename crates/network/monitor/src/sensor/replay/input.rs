//! A capture file as it is read, and where it cannot be read further.

use std::{fmt, io::Read};

use fanfare_wire::units::Time;

/// A packet of a file is no longer than this: a broken length must not take memory.
const PACKET_MAX: usize = 1 << 18;

/// Where and why a file cannot be read further.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// Bytes from its start.
    pub at: u64,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.why)
    }
}

impl std::error::Error for Broken {}

/// A file that is read from its start to its end.
pub(super) struct Input<'r> {
    from: &'r mut dyn Read,
    pub(super) at: u64,
    pub(super) buffer: Vec<u8>,
}

impl<'r> Input<'r> {
    pub(super) fn new(from: &'r mut dyn Read) -> Self {
        Self { from, at: 0, buffer: Vec::new() }
    }

    pub(super) fn broken(&self, why: impl Into<String>) -> Broken {
        Broken { at: self.at, why: why.into() }
    }

    /// Four bytes, or nothing at the end of the file.
    pub(super) fn word(&mut self) -> Result<Option<[u8; 4]>, Broken> {
        let mut word = [0; 4];
        let mut filled = 0;
        while filled < 4 {
            match self.from.read(&mut word[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(self.broken("it ends within a length")),
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error.to_string())),
            }
        }
        self.at += 4;
        Ok(Some(word))
    }

    /// So many bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<&[u8], Broken> {
        if length > PACKET_MAX {
            return Err(self.broken(format!("a packet of {length} bytes, which none has")));
        }
        self.fill(length)
    }

    /// So many bytes, of which the first are kept and the others passed over.
    pub(super) fn start_of(&mut self, length: usize) -> Result<&[u8], Broken> {
        let kept = length.min(PACKET_MAX);
        self.fill(kept)?;
        let wanted = (length - kept) as u64;
        let passed = std::io::copy(&mut (&mut *self.from).take(wanted), &mut std::io::sink())
            .map_err(|error| self.broken(error.to_string()))?;
        self.at += passed;
        if passed < wanted {
            return Err(self.broken("it ends within a block"));
        }
        Ok(&self.buffer)
    }

    fn fill(&mut self, length: usize) -> Result<&[u8], Broken> {
        self.buffer.resize(length, 0);
        if let Err(error) = self.from.read_exact(&mut self.buffer) {
            let why = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "it ends within a packet".to_owned(),
                _ => error.to_string(),
            };
            return Err(self.broken(why));
        }
        self.at += length as u64;
        Ok(&self.buffer)
    }
}

/// A time in nanoseconds.
pub(super) fn time(nanos: u128) -> Time {
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
