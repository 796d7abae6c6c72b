//! A listing that has come, entry by entry. Nothing is believed but what fits together.

use std::io::{self, Read};

use fanfare_node::disk::name::{SafeName, is_one_part};

use super::{Kind, MAGIC, NAME_MAX, VERSION};
use crate::content::varint;

/// Why a listing is not followed.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is not what it says.
    Malformed,
    /// It cannot be read.
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::Malformed,
            _ => Self::Io(error),
        }
    }
}

/// Reads a listing. Holds the name it stands on, and no more.
#[derive(Debug)]
pub(super) struct ListingReader<R> {
    input: R,
    /// Entries after the present one.
    left: u64,
    name: String,
    kind: Option<Kind>,
    /// For the next name.
    rest: Vec<u8>,
}

impl<R: Read> ListingReader<R> {
    /// Begins before the first entry.
    pub(super) fn open(mut input: R) -> Result<Self, ReadError> {
        let mut head = [0; MAGIC.len() + 1];
        input.read_exact(&mut head)?;
        if head[..MAGIC.len()] != MAGIC || head[MAGIC.len()] != VERSION {
            return Err(ReadError::Malformed);
        }
        let left = varint::read(&mut input)?;
        let mut reader = Self { input, left, name: String::new(), kind: None, rest: Vec::new() };
        // A listing of nothing would say that everything may go.
        reader.advance()?;
        if reader.kind.is_some() { Ok(reader) } else { Err(ReadError::Malformed) }
    }

    /// The present entry; `None` after the last.
    pub(super) fn present(&self) -> Option<(&str, Kind)> {
        self.kind.map(|kind| (self.name.as_str(), kind))
    }

    /// Goes on to the next entry.
    pub(super) fn advance(&mut self) -> Result<(), ReadError> {
        let Some(left) = self.left.checked_sub(1) else {
            self.kind = None;
            return match self.input.read(&mut [0])? {
                0 => Ok(()),
                _ => Err(ReadError::Malformed),
            };
        };
        self.left = left;
        let head = varint::read(&mut self.input)?;
        let shared = usize::try_from(head >> 2).map_err(|_| ReadError::Malformed)?;
        let len =
            usize::try_from(varint::read(&mut self.input)?).map_err(|_| ReadError::Malformed)?;
        if shared > self.name.len() || len > NAME_MAX || !self.name.is_char_boundary(shared) {
            return Err(ReadError::Malformed);
        }
        self.rest.resize(len, 0);
        self.input.read_exact(&mut self.rest)?;
        let rest = std::str::from_utf8(&self.rest).map_err(|_| ReadError::Malformed)?;
        let kind = Kind::from_bits(head);
        let name = [&self.name[..shared], rest].concat();
        if !is_safe(&name, kind) || !is_after(&name, &self.name) {
            return Err(ReadError::Malformed);
        }
        (self.name, self.kind) = (name, Some(kind));
        Ok(())
    }
}

/// Whether what has that name, or the directory it is in, can be opened here.
fn is_safe(name: &str, kind: Kind) -> bool {
    let Some((parent, last)) = name.rsplit_once('/').filter(|_| name.len() <= NAME_MAX) else {
        return false;
    };
    match kind {
        Kind::Other => SafeName::check(parent).is_ok() && is_one_part(last),
        Kind::File | Kind::Directory | Kind::UnsentDirectory => SafeName::check(name).is_ok(),
    }
}

/// Whether a name comes after the one before, part by part, and is not beneath it.
fn is_after(name: &str, before: &str) -> bool {
    let beneath = name.strip_prefix(before).is_some_and(|rest| rest.starts_with('/'));
    let first = before.is_empty();
    first || (!beneath && before.split('/').lt(name.split('/')))
}

#[cfg(test)]
pub(super) fn read_all(bytes: &[u8]) -> Result<Vec<(String, Kind)>, ReadError> {
    let mut reader = ListingReader::open(bytes)?;
    let mut entries = Vec::new();
    while let Some((name, kind)) = reader.present() {
        entries.push((name.to_owned(), kind));
        reader.advance()?;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::{super::Lister, *};

    fn some() -> Vec<u8> {
        let mut lister = Lister::default();
        lister.begin("tree").unwrap();
        lister.add("tree/a", Kind::File);
        lister.add("tree/b/c", Kind::File);
        lister.add("tree/b/d", Kind::Directory);
        lister.add("tree/link", Kind::Other);
        lister.finish().unwrap()
    }

    /// Entries without the front coding, whatever they are.
    fn raw(entries: &[(&str, u8)]) -> Vec<u8> {
        let mut bytes = b"FNLS\x01".to_vec();
        bytes.push(entries.len() as u8);
        for (name, kind) in entries {
            bytes.extend([*kind, name.len() as u8]);
            bytes.extend(name.as_bytes());
        }
        bytes
    }

    fn is_refused(entries: &[(&str, u8)]) -> bool {
        matches!(read_all(&raw(entries)), Err(ReadError::Malformed))
    }

    #[test]
    fn names_that_are_out_of_order_or_twice_or_beneath_a_file_are_refused() {
        assert!(read_all(&raw(&[("t/a", 0), ("t/b", 0)])).is_ok());
        assert!(is_refused(&[("t/b", 0), ("t/a", 0)]));
        assert!(is_refused(&[("t/a", 0), ("t/a", 0)]));
        assert!(is_refused(&[("t/a", 0), ("t/a/b", 0)]));
        // By parts a directory comes before a file whose name goes on with a dot; by bytes it does not.
        assert!(read_all(&raw(&[("t/a/b", 0), ("t/a.x", 0)])).is_ok());
        assert!(is_refused(&[("t/a.x", 0), ("t/a/b", 0)]));
    }

    #[test]
    fn names_that_lead_out_of_their_root_or_touch_our_own_files_are_refused() {
        for name in ["t", "", "/etc/passwd", "t/../x", "t//x", "t/.", "t/.fanfare-ledger", "../x/y"]
        {
            assert!(is_refused(&[(name, 0)]), "{name}");
        }
        assert!(is_refused(&[(".fanfare-b/x", 3)]), "its directory cannot be opened");
        assert!(is_refused(&[("t/..", 3)]) && is_refused(&[("t/", 3)]));
        assert!(read_all(&raw(&[("t/.fanfare-b", 3)])).is_ok(), "it only stays");
    }

    #[test]
    fn a_listing_of_nothing_is_refused() {
        assert!(is_refused(&[]));
    }

    #[test]
    fn hostile_bytes_are_refused_without_panic() {
        let whole = some();
        assert_eq!(read_all(&whole).unwrap().len(), 4);
        assert!((0..whole.len()).all(|cut| read_all(&whole[..cut]).is_err()));
        assert!(read_all(&[&whole[..], &[0]].concat()).is_err(), "something after the end");
        assert!(read_all(b"FNLS\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01a").is_err());
        assert!(read_all(b"FNLS\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a").is_err());
        let mut rng = fanfare_proto::rng::Rng::new(4);
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
            let _ = read_all(&bytes);
        }
    }
}
