//! Who the other ends are, as they are written: `NAME=ADDRESS,KEY`, and `NAME=KEY`.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    path::Path,
};

use fanfare_command::{Exit, Failure};
use fanfare_crypto::{PublicKey, Trusted};
use fanfare_link::Peer;

fn wrong(what: &str, text: &str, why: &str) -> Failure {
    Failure::usage("peer.invalid", format!("{what} ({text}): {why}"))
}

/// `NAME=HOST:PORT[,HOST:PORT...],KEY`.
pub(crate) fn peer(text: &str) -> Result<Peer, Failure> {
    const FORM: &str = "write it as NAME=HOST:PORT,KEY, with the KEY that 'fanfare id' shows there";
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("peer", text, FORM))?;
    let (places, key) = rest.rsplit_once(',').ok_or_else(|| wrong("peer", text, FORM))?;
    let key: PublicKey =
        key.parse().map_err(|error| wrong("peer", text, &format!("{error}; {FORM}")))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for place in places.split(',') {
        let found = place.to_socket_addrs().map_err(|error| {
            let text = format!("peer ({place}): is not known ({error}). Check its name and port");
            Failure::new(Exit::Nobody, "peer.unknown", text)
        })?;
        addresses.extend(found);
    }
    if name.is_empty() || addresses.is_empty() {
        return Err(wrong("peer", text, FORM));
    }
    Ok(Peer { name: name.to_owned(), key, addresses })
}

/// `NAME=KEY`.
pub(crate) fn accepted(text: &str) -> Result<(PublicKey, String), Failure> {
    const FORM: &str = "write it as NAME=KEY, with the KEY that 'fanfare id' shows there";
    let (name, key) = text.split_once('=').ok_or_else(|| wrong("accept", text, FORM))?;
    let key = key.parse().map_err(|error| wrong("accept", text, &format!("{error}; {FORM}")))?;
    if name.is_empty() {
        return Err(wrong("accept", text, FORM));
    }
    Ok((key, name.to_owned()))
}

/// The keys of a list as `fanfare trust` keeps it.
pub(crate) fn accept_file(path: &Path) -> Result<Vec<(PublicKey, String)>, Failure> {
    let shown = path.display();
    let text = fanfare_command::text_file::read(path).map_err(|error| {
        let text = format!("accept-file ({shown}): cannot be read ({error}). Check the path");
        Failure::new(Exit::Permission, "peers.unreadable", text)
    })?;
    let trusted = Trusted::parse(&text).map_err(|error| {
        Failure::usage("peers.invalid", format!("accept-file ({shown}): {error}"))
    })?;
    let believed = trusted.entries().iter().filter(|entry| !entry.revoked);
    Ok(believed.map(|entry| (entry.key, entry.name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn a_peer_is_a_name_places_and_a_key() {
        let read = peer(&format!("base=127.0.0.1:7001,127.0.0.2:7001,{KEY}")).unwrap();
        assert_eq!((read.name.as_str(), read.addresses.len()), ("base", 2));
        assert_eq!(accepted(&format!("base={KEY}")).unwrap().1, "base");
        for text in ["base", "base=127.0.0.1:7001", &format!("=127.0.0.1:1,{KEY}"), "b=x,ed25519:1"]
        {
            assert_eq!(peer(text).unwrap_err().exit, Exit::Usage, "{text}");
        }
        assert_eq!(accepted("base=rsa:1").unwrap_err().exit, Exit::Usage);
    }
}
