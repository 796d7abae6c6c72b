//! A member as a file keeps it, with its secrets.

use mls_rs::crypto::SignatureSecretKey;

use crate::{
    change::public_ids,
    fault::Fault,
    member::Member,
    record::{Reader, Writer},
    store::Store,
};

/// How the file begins.
const HEAD: &[u8] = b"fanfare-member 1\n";

impl Member {
    /// What a file is to keep. Nobody else may read it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer { bytes: HEAD.to_vec() };
        writer.field(self.name.as_bytes()).field(&self.secret).number(self.term);
        writer.list(&self.controllers);
        let group = self.store.group().map_or(Vec::new(), |(id, state)| vec![id, state]);
        writer.list(&group);
        let requests: Vec<Vec<u8>> =
            self.store.requests().into_iter().flat_map(|(id, request)| [id, request]).collect();
        writer.list(&requests);
        writer.bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is none, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let wrong = Fault::Malformed("file");
        let mut reader = Reader::new(bytes.strip_prefix(HEAD).ok_or(wrong.clone())?, "file");
        let name = std::str::from_utf8(reader.field()?).map_err(|_| wrong.clone())?;
        let secret = SignatureSecretKey::new_slice(reader.field()?);
        let (term, controllers) = (reader.number()?, public_ids(&reader.list()?)?);
        let (group, requests) = (reader.list()?, reader.list()?);
        reader.end()?;
        let store = Store::default();
        match &group[..] {
            [] => {}
            [id, state] => store.set_group(Some((id.to_vec(), state.to_vec()))),
            _ => return Err(wrong),
        }
        for pair in requests.chunks(2) {
            let [id, request] = pair else { return Err(wrong) };
            store.restore(id, request).ok_or(wrong.clone())?;
        }
        let mut member = Self::with(name, secret, store)?;
        (member.term, member.controllers) = (term, controllers);
        member.reload()?;
        Ok(member)
    }
}
