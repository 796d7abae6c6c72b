//! Topics of a stream: `video/NAME/about`, `video/NAME/RENDITION`, and `video-want` for viewers.

/// Where viewers say what they want. No stream's topics begin so.
pub const WANT: &str = "video-want";
/// What streams there are.
pub const ALL_ABOUT: &str = "video/+/about";

/// What a stream is.
#[must_use]
pub fn about(name: &str) -> String {
    format!("video/{name}/about")
}

/// The segments of a rendition.
#[must_use]
pub fn rendition(name: &str, rendition: &str) -> String {
    format!("video/{name}/{rendition}")
}

/// Whether a stream may be called so: it is a level of a topic, and a part of a path.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_level_and_leads_nowhere_else() {
        assert!(is_name("gate-2_east"));
        for other in ["", "a/b", "..", "a b", "+", "#", "ä", &"x".repeat(65)] {
            assert!(!is_name(other), "{other}");
        }
    }
}
