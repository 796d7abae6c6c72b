//! What the part of a pack is called while it is received.

use fanfare_node::disk::name::PART_PREFIX;

/// How the name of such a part ends.
pub const PACK_PART: &str = ".pack.part";

/// The name of the part of the pack with this hash.
#[must_use]
pub fn pack_part_name(root: &[u8; 32]) -> String {
    let hex = blake3::Hash::from_bytes(*root).to_hex();
    format!("{PART_PREFIX}{}{PACK_PART}", &hex[..16])
}
