//! Standard input that may be silent.

use std::{io, time::Duration};

pub use fanfare_udp::os::input::took_enter;

/// Whether there is something to be read, its end among it, within `most`.
///
/// # Errors
/// What the system says.
pub fn is_readable(most: Duration) -> io::Result<bool> {
    match fanfare_udp::os::input::is_readable(io::stdin(), most) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        looked => looked,
    }
}
