//! What a controller tells the group, and those who join.

use std::{fmt, str::FromStr};

use crate::{
    fault::Fault,
    record::{Reader, Writer},
};

/// The public key by which a member is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicId(pub [u8; 32]);

impl fmt::Display for PublicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for PublicId {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = || Fault::Malformed("public key");
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut id = [0; 32];
        for (n, byte) in id.iter_mut().enumerate() {
            let digits = text.get(2 * n..2 * n + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self(id))
    }
}

impl AsRef<[u8]> for PublicId {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// From one epoch to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The epoch that it goes on from.
    pub from: u64,
    /// The term of its controller.
    pub term: u64,
    /// Who may change the group from now on, first the one that does.
    pub controllers: Vec<PublicId>,
    /// For those who are in.
    pub commit: Vec<u8>,
    /// For those who join.
    pub welcome: Option<Vec<u8>>,
}

impl Change {
    /// For the members: what joiners need is left out.
    #[must_use]
    pub fn for_members(&self) -> Self {
        Self { welcome: None, ..self.clone() }
    }

    /// For who joins: the members' part is left out.
    #[must_use]
    pub fn for_joiner(&self) -> Self {
        Self { commit: Vec::new(), ..self.clone() }
    }

    /// As it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(self.from).number(self.term).list(&self.controllers).field(&self.commit);
        writer.list(self.welcome.as_slice());
        writer.bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(bytes, "change");
        let (from, term) = (reader.number()?, reader.number()?);
        let controllers = public_ids(&reader.list()?)?;
        let commit = reader.field()?.to_vec();
        let welcome = reader.list()?.first().map(|welcome| welcome.to_vec());
        reader.end()?;
        Ok(Self { from, term, controllers, commit, welcome })
    }

    /// What the commit says under its signature: so nobody can change it on the way.
    pub(crate) fn signed(term: u64, controllers: &[PublicId]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(term).list(controllers);
        writer.bytes
    }

    pub(crate) fn read_signed(bytes: &[u8]) -> Result<(u64, Vec<PublicId>), Fault> {
        let mut reader = Reader::new(bytes, "change");
        let (term, controllers) = (reader.number()?, public_ids(&reader.list()?)?);
        reader.end()?;
        Ok((term, controllers))
    }
}

/// What a member says that wants to be let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// Who it is.
    pub public: PublicId,
    /// In which epoch it says so.
    pub epoch: u64,
    /// Its signature of both.
    pub signature: Vec<u8>,
}

impl Leaving {
    /// As it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.field(&self.public.0).number(self.epoch).field(&self.signature);
        writer.bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(bytes, "farewell");
        let public = public_ids(&[reader.field()?])?[0];
        let (epoch, signature) = (reader.number()?, reader.field()?.to_vec());
        reader.end()?;
        Ok(Self { public, epoch, signature })
    }

    /// What is signed.
    pub(crate) fn signed(public: PublicId, epoch: u64, group: &[u8]) -> Vec<u8> {
        let mut writer = Writer { bytes: b"fanfare leave 1".to_vec() };
        writer.field(group).field(&public.0).number(epoch);
        writer.bytes
    }
}

pub(crate) fn public_ids(list: &[&[u8]]) -> Result<Vec<PublicId>, Fault> {
    let one = |bytes: &&[u8]| (*bytes).try_into().map(PublicId);
    list.iter().map(one).collect::<Result<_, _>>().map_err(|_| Fault::Malformed("public key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_back_as_it_was_and_cut_it_is_none() {
        let change = Change {
            from: 3,
            term: 1,
            controllers: vec![PublicId([7; 32])],
            commit: vec![1, 2, 3],
            welcome: Some(vec![4, 5]),
        };
        let bytes = change.encode();
        assert_eq!(Change::decode(&bytes), Ok(change.clone()));
        assert_eq!(Change::decode(&change.for_members().encode()).unwrap().welcome, None);
        for cut in 0..bytes.len() {
            assert!(Change::decode(&bytes[..cut]).is_err());
        }
    }
}
