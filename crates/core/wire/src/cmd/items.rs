//! Lists of items of one length.

use crate::WireError;

/// `bytes` again, when they are a whole number of items.
pub(super) fn whole_items<'a>(
    what: &'static str,
    bytes: &'a [u8],
    item: usize,
) -> Result<&'a [u8], WireError> {
    if bytes.len().is_multiple_of(item) {
        Ok(bytes)
    } else {
        Err(WireError::ListLength { what, bytes: bytes.len(), item })
    }
}
