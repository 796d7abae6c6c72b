//! Fields one after another: numbers with the high byte first, bytes behind their length.

use crate::fault::Fault;

/// Longest field: a welcome of a thousand members has 332 KB.
const FIELD_MAX: usize = 16 << 20;
/// Most entries of a list.
const LIST_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.bytes.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn field(&mut self, field: &[u8]) -> &mut Self {
        self.bytes.extend((field.len() as u32).to_be_bytes());
        self.bytes.extend(field);
        self
    }

    pub(crate) fn list<T: AsRef<[u8]>>(&mut self, list: &[T]) -> &mut Self {
        self.bytes.extend((list.len() as u32).to_be_bytes());
        list.iter().for_each(|field| {
            self.field(field.as_ref());
        });
        self
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Malformed(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, Fault> {
        let bytes = self.take(4)?.first_chunk().ok_or(Fault::Malformed(self.what))?;
        Ok(u32::from_be_bytes(*bytes) as usize)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Fault> {
        let bytes = self.take(8)?.first_chunk().ok_or(Fault::Malformed(self.what))?;
        Ok(u64::from_be_bytes(*bytes))
    }

    pub(crate) fn field(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.length()?;
        match length <= FIELD_MAX {
            true => self.take(length),
            false => Err(Fault::Malformed(self.what)),
        }
    }

    pub(crate) fn list(&mut self) -> Result<Vec<&'a [u8]>, Fault> {
        let count = self.length()?;
        if count > LIST_MAX {
            return Err(Fault::Malformed(self.what));
        }
        (0..count).map(|_| self.field()).collect()
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::Malformed(self.what)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let mut writer = Writer::default();
        writer.number(7).field(b"abc").list(&[&b"x"[..], b"yz"]);
        let bytes = writer.bytes;
        let read = |bytes: &[u8]| -> Result<(), Fault> {
            let mut reader = Reader::new(bytes, "test");
            assert_eq!(reader.number()?, 7);
            assert_eq!(reader.field()?, b"abc");
            assert_eq!(reader.list()?, [&b"x"[..], b"yz"]);
            reader.end()
        };
        assert_eq!(read(&bytes), Ok(()));
        for cut in 8..bytes.len() {
            assert!(read(&bytes[..cut]).is_err(), "{cut}");
        }
        assert!(read(&[&bytes[..], b"z"].concat()).is_err());
    }
}
