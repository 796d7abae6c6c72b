//! Bytes as hexadecimal digits.

/// 64 hexadecimal digits.
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits, if there are just so many.
pub fn bytes_of_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (n, digit) in digits.chars().enumerate() {
        bytes[n / 2] = bytes[n / 2] << 4 | digit.to_digit(16)? as u8;
    }
    Some(bytes)
}
