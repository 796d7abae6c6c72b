//! Hosts that are written with the interface that leads to them.

use std::net::{SocketAddr, SocketAddrV6};

use crate::interface::{Interface, interfaces};

/// An IPv6 address with its interface: `fe80::1%eth0` or `[fe80::1%eth0]:6003`. `None` for anything else.
///
/// # Errors
/// Which interfaces there are, where there is none of this name or number.
pub fn scoped_host(name: &str, port: u16) -> Result<Option<SocketAddr>, String> {
    let bracketed = name.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (inner, port) = match bracketed {
        Some((inner, rest)) => match rest.strip_prefix(':').map(str::parse) {
            Some(Ok(port)) => (inner, port),
            None if rest.is_empty() => (inner, port),
            _ => return Ok(None),
        },
        None => (name, port),
    };
    let Some((ip, interface)) = inner.split_once('%') else { return Ok(None) };
    let Ok(ip) = ip.parse() else { return Ok(None) };
    let known = interfaces().unwrap_or_default();
    let is_it =
        |known: &&Interface| known.name == interface || known.index.to_string() == interface;
    let Some(found) = known.iter().find(is_it) else {
        let names: Vec<&str> = known.iter().map(|known| &known.name[..]).collect();
        let names = names.join(", ");
        return Err(format!("no interface is called {interface}. There are {names}"));
    };
    Ok(Some(SocketAddrV6::new(ip, port, 0, found.index).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_local_address_may_have_its_interface_and_one_that_is_not_there_is_told() {
        for (written, port) in [("fe80::1%lo", 6003), ("[fe80::1%lo]:7", 7), ("[fe80::1%lo]", 6003)]
        {
            let Ok(Some(SocketAddr::V6(address))) = scoped_host(written, 6003) else {
                panic!("{written}")
            };
            assert!(address.scope_id() > 0 && address.port() == port, "{written}: {address}");
        }
        let refused = scoped_host("fe80::1%nope9", 6003).unwrap_err();
        assert!(refused.starts_with("no interface is called nope9. There are "), "{refused}");
        for other in ["fd00::1", "[fe80::1]:7", "name", "10.0.0.1", "[fe80::1%lo]:x", "x%lo"] {
            assert_eq!(scoped_host(other, 6003), Ok(None), "{other}");
        }
    }
}
