//! Which rendition of a stream a viewer wants: a short message, said again every two seconds.

/// A viewer's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The stream; none yet: it asks what streams there are.
    pub name: String,
    /// The rendition; none yet: it asks what the stream is.
    pub rendition: String,
}

impl Want {
    /// Its text.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        format!("{} {}", self.name, self.rendition).into_bytes()
    }
    /// Reads one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (name, rendition) = core::str::from_utf8(bytes).ok()?.split_once(' ')?;
        let fits = |text: &str| text.is_empty() || crate::topics::is_name(text);
        (fits(name) && fits(rendition))
            .then(|| Self { name: name.to_owned(), rendition: rendition.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_back_as_it_was_and_nonsense_does_not() {
        for (name, rendition) in [("gate", "400k"), ("gate", ""), ("", "")] {
            let want = Want { name: name.to_owned(), rendition: rendition.to_owned() };
            assert_eq!(Want::parse(&want.encode()), Some(want));
        }
        for text in ["", "gate", "a/b 64k", "gate 6/4"] {
            assert_eq!(Want::parse(text.as_bytes()), None, "{text}");
        }
    }
}
