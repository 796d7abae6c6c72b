//! Where a symbolic link leads, judged by its text alone.

/// Whether a link whose directory is `depth` levels below a root leads nowhere above that root.
///
/// Only a beginning of `..` is judged: what goes up after it has gone down may go through another
/// link, and then leads anywhere.
pub(crate) fn stays_inside(depth: usize, target: &[u8]) -> bool {
    if target.is_empty() || target[0] == b'/' {
        return false;
    }
    let (mut ups, mut went_down) = (0, false);
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if went_down => return false,
            b".." => ups += 1,
            _ => went_down = true,
        }
    }
    ups <= depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_out_when_they_are_absolute_or_go_above_the_root() {
        for target in [&b"a"[..], b"./a/b", b"a//b", b"..", b"../x", b"../../x/y", b"../../"] {
            assert!(stays_inside(2, target), "{}", String::from_utf8_lossy(target));
        }
        for target in [&b""[..], b"/", b"/etc", b"../../..", b"../../../x", b".././../../x"] {
            assert!(!stays_inside(2, target), "{}", String::from_utf8_lossy(target));
        }
        assert!(!stays_inside(0, b"..") && stays_inside(0, b"."));
    }

    #[test]
    fn a_link_that_goes_up_after_it_went_down_may_lead_anywhere() {
        assert!(!stays_inside(5, b"a/../b"));
        assert!(!stays_inside(5, b"../a/.."));
    }
}
