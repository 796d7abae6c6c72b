//! Whose signatures are believed: names and public keys, a line each.
//!
//! ```text
//! # comment
//! host-7 ed25519:d75a98...
//! @revoked host-8 ed25519:3d4017...
//! ```

use std::fmt;

use crate::identity::PublicKey;

const REVOKED: &str = "@revoked";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What the node is called.
    pub name: String,
    /// Its key.
    pub key: PublicKey,
    /// It is not believed any more.
    pub revoked: bool,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trusted {
    entries: Vec<Entry>,
}

/// Why a list is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustError {
    /// This line has no name or no key.
    Line(usize),
    /// The line gives a key another name than an earlier one.
    TwoNames(usize, String, String),
    /// The line gives a name another key than an earlier one.
    TwoKeys(usize, String),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line} is not a name and a key (ed25519:...)"),
            Self::TwoNames(line, one, other) => {
                write!(f, "line {line} gives one key two names ({one} and {other})")
            }
            Self::TwoKeys(line, name) => write!(f, "line {line} gives {name} a second key"),
        }
    }
}

impl std::error::Error for TrustError {}

impl Trusted {
    /// Reads a list.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let mut trusted = Self::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (revoked, rest) = match line.strip_prefix(REVOKED) {
                Some(rest) => (true, rest.trim_start()),
                None => (false, line),
            };
            let (name, key) =
                rest.rsplit_once(char::is_whitespace).ok_or(TrustError::Line(n + 1))?;
            let key = key.parse().map_err(|_| TrustError::Line(n + 1))?;
            let entry = Entry { name: name.trim().to_owned(), key, revoked };
            trusted.add(entry).map_err(|error| error.at(n + 1))?;
        }
        Ok(trusted)
    }

    /// The list as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = |entry: &Entry| {
            let revoked = if entry.revoked { "@revoked " } else { "" };
            format!("{revoked}{} {}\n", entry.name, entry.key)
        };
        self.entries.iter().map(line).collect()
    }

    /// One more. The same again changes nothing; revoked is revoked for good.
    ///
    /// # Errors
    /// When name or key stand for something else.
    pub fn add(&mut self, entry: Entry) -> Result<(), TrustError> {
        let line = self.entries.len() + 1;
        if let Some(same) = self.entries.iter_mut().find(|known| known.key == entry.key) {
            if same.name != entry.name {
                return Err(TrustError::TwoNames(line, same.name.clone(), entry.name));
            }
            same.revoked |= entry.revoked;
            return Ok(());
        }
        let taken = |known: &&Entry| known.name == entry.name && !known.revoked && !entry.revoked;
        if self.entries.iter().find(taken).is_some() {
            return Err(TrustError::TwoKeys(line, entry.name));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Removes this name; false when it was not there.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.name != name);
        self.entries.len() < before
    }

    /// All lines.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Names that are believed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| !entry.revoked).map(|entry| entry.name.as_str())
    }

    /// Whether this key is believed to be the node's of this name.
    #[must_use]
    pub fn believes(&self, name: &str, key: &PublicKey) -> bool {
        let same = |entry: &&Entry| entry.name == name && entry.key == *key;
        self.entries.iter().find(same).is_some_and(|entry| !entry.revoked)
    }

    /// What is known of a key.
    #[must_use]
    pub fn find(&self, key: &PublicKey) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }
}

impl TrustError {
    fn at(self, line: usize) -> Self {
        match self {
            Self::Line(_) => Self::Line(line),
            Self::TwoNames(_, one, other) => Self::TwoNames(line, one, other),
            Self::TwoKeys(_, name) => Self::TwoKeys(line, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn key(n: u8) -> PublicKey {
        Identity::from_seed([n; 32]).public()
    }

    #[test]
    fn a_list_comes_back_and_revoked_keys_are_not_believed() {
        let text = format!("# hosts\na b {}\n@revoked c {}\nc {}\n", key(1), key(2), key(3));
        let trusted = Trusted::parse(&text).unwrap();
        assert!(trusted.believes("a b", &key(1)) && trusted.believes("c", &key(3)));
        assert!(!trusted.believes("c", &key(2)) && !trusted.believes("c", &key(1)));
        assert_eq!(trusted.names().collect::<Vec<_>>(), ["a b", "c"]);
        assert_eq!(Trusted::parse(&trusted.to_text()), Ok(trusted));
    }

    #[test]
    fn one_key_has_one_name_and_one_name_one_key() {
        let refused = |text: String| Trusted::parse(&text).unwrap_err().to_string();
        let (one, two) = (key(1), key(2));
        assert_eq!(
            refused(format!("a {one}\nb {one}")),
            "line 2 gives one key two names (a and b)"
        );
        assert_eq!(refused(format!("a {one}\na {two}")), "line 2 gives a a second key");
        assert_eq!(refused("a\n".to_owned()), "line 1 is not a name and a key (ed25519:...)");
        assert_eq!(refused("a rsa:1\n".to_owned()), "line 1 is not a name and a key (ed25519:...)");
        let mut trusted = Trusted::parse(&format!("a {one}\na {one}\n")).unwrap();
        assert_eq!(trusted.entries().len(), 1);
        assert!(trusted.remove("a") && !trusted.remove("a"));
    }
}
