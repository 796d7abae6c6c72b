//! What a program sets by name, read when it is set.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use fanfare::{
    files::{Conflict, Until},
    groups::{History, Ordering},
    protocol::{Bitrate, CongestionControl, NodeId},
    stream::{Flush, Framing, Start, StreamPolicy},
};

use crate::{error::Error, table, words::Expected};

/// What options are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Files that are sent.
    SendFiles = 1,
    /// Files that are received.
    ReceiveFiles = 2,
    /// A stream that is sent.
    SendStream = 4,
    /// A stream that is received.
    ReceiveStream = 8,
    /// A member of a group.
    Join = 16,
    /// Messages that are published.
    Publish = 32,
    /// Messages that are asked for.
    Subscribe = 64,
}

impl Purpose {
    fn words(self) -> &'static str {
        match self {
            Self::SendFiles => "files that are sent",
            Self::ReceiveFiles => "files that are received",
            Self::SendStream => "a stream that is sent",
            Self::ReceiveStream => "a stream that is received",
            Self::Join => "a member of a group",
            Self::Publish => "messages that are published",
            Self::Subscribe => "a subscription",
        }
    }
}

/// What was set. What was not is at its default.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub(crate) given: BTreeSet<&'static str>,
    pub(crate) rate: Option<Bitrate>,
    pub(crate) control: Option<CongestionControl>,
    pub(crate) interface: Option<String>,
    pub(crate) ttl: Option<u8>,
    pub(crate) segment: Option<u16>,
    pub(crate) node: Option<NodeId>,
    pub(crate) loss: f64,
    pub(crate) name: String,
    pub(crate) expect: Option<Expected>,
    pub(crate) wait: Option<Duration>,
    pub(crate) one_way: bool,
    pub(crate) sync: bool,
    pub(crate) carousel: u32,
    pub(crate) conflict: Conflict,
    pub(crate) create_dirs: bool,
    pub(crate) until: Until,
    pub(crate) timeout: Option<Duration>,
    pub(crate) policy: Option<StreamPolicy>,
    pub(crate) buffer: Option<u64>,
    pub(crate) flush: Flush,
    pub(crate) framing: Framing,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) start: Start,
    pub(crate) unordered: bool,
    pub(crate) message_max: Option<u64>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) repair_rate: Option<Bitrate>,
    pub(crate) priority: Option<u8>,
    pub(crate) expiry: Option<Duration>,
    pub(crate) tag: Option<u64>,
    pub(crate) replaces: bool,
    pub(crate) receipts: bool,
    pub(crate) ordering: Ordering,
    pub(crate) unreliable: bool,
    pub(crate) history: History,
}

impl Options {
    /// Sets an option by its name.
    ///
    /// # Errors
    /// There is none of that name, or the value is none of its values.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let Some(known) = table::ALL.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = table::ALL.iter().map(|known| known.name).collect();
            let text = format!("option ({name}): there is none. There are {}", names.join(", "));
            return Err(Error::mistake(text));
        };
        (known.set)(self, known.name, value)?;
        self.given.insert(known.name);
        Ok(())
    }

    /// Refuses what means nothing for this purpose.
    pub(crate) fn check(&self, purpose: Purpose) -> Result<(), Error> {
        let stray = table::ALL
            .iter()
            .find(|known| self.given.contains(known.name) && known.uses & purpose as u8 == 0);
        stray.map_or(Ok(()), |known| {
            let text = format!("option ({}): is not for {}", known.name, purpose.words());
            Err(Error::mistake(text))
        })
    }

    /// The names of all options that mean something for this purpose.
    pub fn names(purpose: Purpose) -> impl Iterator<Item = &'static str> {
        table::ALL
            .iter()
            .filter(move |known| known.uses & purpose as u8 != 0)
            .map(|known| known.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_not_there_or_not_for_this_is_refused_in_words() {
        let mut options = Options::default();
        let error = options.set("speed", "1M").unwrap_err();
        assert!(error.text.starts_with("option (speed): there is none. There are rate, "));
        options.set("start", "now").unwrap();
        let error = options.check(Purpose::SendStream).unwrap_err();
        assert_eq!(error.text, "option (start): is not for a stream that is sent");
        assert_eq!(options.check(Purpose::ReceiveStream), Ok(()));
    }

    #[test]
    fn the_reference_has_a_row_for_every_option() {
        let page = include_str!("../../../../docs/reference/options/library.md");
        let missing =
            table::ALL.iter().filter(|one| !page.contains(&format!("| `{}` |", one.name)));
        assert_eq!(missing.map(|one| one.name).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn a_value_that_is_none_is_refused_when_it_is_set_and_changes_nothing() {
        let mut options = Options::default();
        let error = options.set("rate", "10MB").unwrap_err();
        assert!(error.text.starts_with("rate (10MB): that is bytes"), "{error}");
        assert_eq!(options.rate, None);
        assert!(options.given.is_empty());
    }
}
