//! Cookies show that somebody is at the address that it asks from.

use std::net::SocketAddr;

/// A secret, by which cookies are made and known again without a table.
pub(crate) struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Never 0, which stands for none.
    pub(crate) fn cookie(&self, address: SocketAddr, sender: u32) -> u64 {
        let text = format!("{sender} {address}");
        let hash = blake3::keyed_hash(&self.0, text.as_bytes());
        let (head, _) = hash.as_bytes().split_first_chunk::<8>().unwrap_or((&[1; 8], &[]));
        u64::from_be_bytes(*head).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_one_address_one_transfer_and_one_secret() {
        let at = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let secret = Secret::new([1; 32]);
        let cookie = secret.cookie(at(1), 7);
        assert_eq!(cookie, secret.cookie(at(1), 7));
        assert_ne!(cookie, secret.cookie(at(2), 7));
        assert_ne!(cookie, secret.cookie(at(1), 8));
        assert_ne!(cookie, Secret::new([2; 32]).cookie(at(1), 7));
    }
}
