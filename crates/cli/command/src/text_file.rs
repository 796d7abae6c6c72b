//! Files that people write with an editor: lists, tokens, passwords, rules.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

/// Reads a file of text, as [`decode`] understands it.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    decode(fs::read(path)?)
}

/// Reads all of `input` as text, as [`decode`] understands it.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn read_all(mut input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    decode(bytes)
}

/// Text in UTF-8, with or without the byte order mark that editors of Windows write; or in UTF-16
/// with its mark, which PowerShell's `>` writes.
///
/// # Errors
/// It is neither.
pub fn decode(bytes: Vec<u8>) -> io::Result<String> {
    let none = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let wide = |rest: &[u8], from: fn([u8; 2]) -> u16| {
        let (units, odd) = rest.as_chunks::<2>();
        let text = String::from_utf16(&units.iter().map(|unit| from(*unit)).collect::<Vec<_>>());
        text.ok().filter(|_| odd.is_empty()).ok_or_else(|| none("it is no text in UTF-16"))
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode(rest.to_vec()),
        _ => String::from_utf8(bytes).map_err(|_| none("it is no text in UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let wide = |mark: &[u8], from: fn(u16) -> [u8; 2]| {
            [mark, &"h\u{e9}\n".encode_utf16().flat_map(from).collect::<Vec<_>>()].concat()
        };
        for bytes in [
            "h\u{e9}\n".into(),
            "\u{feff}h\u{e9}\n".into(),
            wide(b"\xff\xfe", u16::to_le_bytes),
            wide(b"\xfe\xff", u16::to_be_bytes),
        ] {
            assert_eq!(decode(bytes).unwrap(), "h\u{e9}\n");
        }
        assert_eq!(decode(Vec::new()).unwrap(), "");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [&b"caf\xe9"[..], b"\xff\xfea", b"\xff\xfe\x00\xd8"] {
            assert_eq!(decode(bytes.to_vec()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
