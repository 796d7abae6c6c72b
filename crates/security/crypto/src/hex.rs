//! Bytes as digits, in files of keys and the like.

/// Two digits a byte.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As many bytes, of digits in either case; `None` for anything else.
#[must_use]
pub fn from_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (n, digit) in digits.chars().enumerate() {
        let value = digit.to_digit(16)? as u8;
        bytes[n / 2] = bytes[n / 2] << 4 | value;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_what_is_no_digit_or_too_few_of_them_does_not() {
        let bytes = [0x00, 0x7f, 0xff];
        assert_eq!(to_hex(&bytes), "007fff");
        assert_eq!(from_hex("007fFF"), Some(bytes));
        for text in ["", "007ff", "007fff0", "007fg0", "+07fff", "07ff\u{e9}"] {
            assert_eq!(from_hex::<3>(text), None, "{text}");
        }
    }
}
