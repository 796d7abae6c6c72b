//! Why a file cannot be sent over layers.

use std::{fmt, io, net::IpAddr};

use fanfare_proto::congestion::layered::SchemeError;

/// The longest object: its blocks are kept in memory, encoded, twice its length.
pub(super) const OBJECT_MAX: u64 = 1 << 30;

/// Why a file cannot be sent over layers.
#[derive(Debug)]
pub enum LayeredError {
    /// It is many files.
    Many,
    /// It has no bytes.
    Empty(String),
    /// It is too long.
    Long(String, u64),
    /// Its name is too long.
    Name(String),
    /// Layers that no session may have.
    Layers(SchemeError),
    /// The address is no group.
    Unicast(IpAddr),
    /// There are not enough groups behind the session's own.
    Groups(IpAddr, usize),
    /// It cannot be read as it was.
    Unreadable(String, io::Error),
}

impl fmt::Display for LayeredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Many => write!(
                f,
                "layers (many files): one file at a time goes over layers. Pack them, as with \
                 tar, or leave --layers out"
            ),
            Self::Empty(name) => {
                write!(f, "file ({name}): it is empty, and layers carry bytes. Leave --layers out")
            }
            Self::Long(name, size) => write!(
                f,
                "file ({name}): its {size} bytes are more than the {OBJECT_MAX} that layers keep in \
                 memory. Cut it, or leave --layers out"
            ),
            Self::Name(name) => write!(
                f,
                "file ({name}): its name does not fit beside the layers' description. Rename it"
            ),
            Self::Layers(error) => {
                let why = match error {
                    SchemeError::Count(count) => format!("{count} layers are not 1 to 128"),
                    SchemeError::Silent(layer) => format!("layer {layer} has no rate"),
                    SchemeError::Total => "together they are more than 1000G".to_owned(),
                    SchemeError::Factor(factor) => {
                        format!("a factor of {factor}/1000 does not grow")
                    }
                };
                write!(
                    f,
                    "layers (as given): {why}. Give --layers auto, or rates such as 256k,256k,512k"
                )
            }
            Self::Unicast(address) => write!(
                f,
                "group ({address}): layers are groups, and this is one receiver's address. Give a \
                 multicast address"
            ),
            Self::Groups(group, layers) => write!(
                f,
                "group ({group}): {layers} layers need as many groups behind it, and there are not \
                 so many. Give a lower address"
            ),
            Self::Unreadable(name, error) => {
                write!(f, "file ({name}): it cannot be read as it was ({error}). Send it again")
            }
        }
    }
}

impl std::error::Error for LayeredError {}
