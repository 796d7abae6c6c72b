//! How much of addresses is told to others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What becomes of an address before it leaves the sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addresses {
    /// It is told as it is.
    #[default]
    Full,
    /// Only its network: 24 bits of IPv4, 48 of IPv6. Groups are told as they are.
    Prefix,
    /// Nothing of it; all that is not a group is one.
    Hidden,
}

impl Addresses {
    /// As it is told.
    #[must_use]
    pub fn tell(self, address: IpAddr) -> String {
        if address.is_multicast() {
            return address.to_string();
        }
        match (self, address) {
            (Self::Full, address) => address.to_string(),
            (Self::Prefix, IpAddr::V4(four)) => {
                let bits = u32::from(four) & 0xffff_ff00;
                format!("{}/24", Ipv4Addr::from(bits))
            }
            (Self::Prefix, IpAddr::V6(six)) => {
                let bits = u128::from(six) & (u128::MAX << 80);
                format!("{}/48", Ipv6Addr::from(bits))
            }
            (Self::Hidden, _) => "hidden".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_whole_in_part_or_not_at_all_and_a_group_always() {
        let told = |how: Addresses, text: &str| how.tell(text.parse().unwrap());
        assert_eq!(told(Addresses::Full, "192.0.2.7"), "192.0.2.7");
        assert_eq!(told(Addresses::Prefix, "192.0.2.7"), "192.0.2.0/24");
        assert_eq!(told(Addresses::Prefix, "2001:db8:1:2::7"), "2001:db8:1::/48");
        assert_eq!(told(Addresses::Hidden, "192.0.2.7"), "hidden");
        assert_eq!(told(Addresses::Hidden, "239.1.1.1"), "239.1.1.1");
    }
}
