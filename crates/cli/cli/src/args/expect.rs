//! Who must have everything in the end: how many, which names, or which keys.

use std::{net::SocketAddr, path::Path};

use fanfare_command::Failure;
use fanfare_command::keys::trust;
use fanfare_files::Expect;
use fanfare_node::seal::Trusted;

/// Who is expected, and whose keys they have.
/// `only`: single hosts that are sent to, where nobody else is.
pub(super) fn expect(
    text: Option<&str>,
    one_way: bool,
    only: &[SocketAddr],
) -> Result<(Expect, Option<Trusted>), Failure> {
    let Some(text) = text else {
        let hosts = || Expect::Hosts(only.to_vec());
        return Ok((if only.is_empty() || one_way { Expect::Anyone } else { hosts() }, None));
    };
    let wrong = |why: &str| {
        let text = format!(
            "expect ({text}): {why}. Give a number such as 3, names such as a,b, or a list of keys"
        );
        Failure::usage("expect.invalid", text)
    };
    if one_way {
        return Err(wrong("nobody can be expected with --one-way"));
    }
    if text.chars().all(|c| c.is_ascii_digit()) {
        return match text.parse() {
            Ok(0) | Err(_) => Err(wrong("not a number of receivers")),
            Ok(count) => Ok((Expect::Count(count), None)),
        };
    }
    if text.contains('/') || Path::new(text).is_file() {
        let trusted = trust::read(Path::new(text))?;
        let names: Vec<String> = trusted.names().map(str::to_owned).collect();
        return match names.is_empty() {
            true => Err(wrong("nobody is in this list")),
            false => Ok((Expect::Names(names), Some(trusted))),
        };
    }
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    match names.iter().any(String::is_empty) {
        true => Err(wrong("a name is empty")),
        false => Ok((Expect::Names(names), None)),
    }
}
