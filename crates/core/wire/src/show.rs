//! Flags and lists as people read them.

use core::fmt;

/// The names of the bits set, lowest first, joined by `|`; bits without a name as a number, `-`
/// for none at all.
pub(crate) fn write_flags(f: &mut fmt::Formatter<'_>, flags: u8, names: &[&str]) -> fmt::Result {
    if flags == 0 {
        return f.write_str("-");
    }
    let mut separator = "";
    for bit in 0..8 {
        if flags & 1 << bit != 0 {
            match names.get(bit) {
                Some(name) => write!(f, "{separator}{name}")?,
                None => write!(f, "{separator}0x{:02x}", 1 << bit)?,
            }
            separator = "|";
        }
    }
    Ok(())
}

/// Items in brackets, separated by spaces.
pub(crate) fn write_list(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    f.write_str("[")?;
    for (index, item) in items.enumerate() {
        write!(f, "{}{item}", if index == 0 { "" } else { " " })?;
    }
    f.write_str("]")
}
