//! Which rendition of a stream a viewer wants: a short message, said again every two seconds.

/// A viewer's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The stream; none yet: it asks what streams there are.
    pub name: String,
    /// The rendition; none yet: it asks what the stream is.
    pub rendition: String,
    /// What the path from the sender carries, kbit/s, where it is known.
    pub carries_kbps: Option<u64>,
}

impl Want {
    /// Its text.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let carries = self.carries_kbps.map(|kbps| format!(" {kbps}")).unwrap_or_default();
        format!("{} {}{carries}", self.name, self.rendition).into_bytes()
    }
    /// Reads one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = core::str::from_utf8(bytes).ok()?.split(' ');
        let (name, rendition) = (words.next()?.to_owned(), words.next()?.to_owned());
        let carries_kbps = words.next().map(str::parse).transpose().ok()?;
        let fits = |text: &str| text.is_empty() || crate::topics::is_name(text);
        (fits(&name) && fits(&rendition)).then_some(Self { name, rendition, carries_kbps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_back_as_it_was_and_nonsense_does_not() {
        for (name, rendition, carries_kbps) in [
            ("gate", "400k", Some(1200)),
            ("gate", "400k", None),
            ("gate", "", None),
            ("", "", None),
        ] {
            let (name, rendition) = (name.to_owned(), rendition.to_owned());
            let want = Want { name, rendition, carries_kbps };
            assert_eq!(Want::parse(&want.encode()), Some(want));
        }
        for text in ["", "gate", "a/b 64k", "gate 6/4", "gate 64k fast"] {
            assert_eq!(Want::parse(text.as_bytes()), None, "{text}");
        }
    }
}
