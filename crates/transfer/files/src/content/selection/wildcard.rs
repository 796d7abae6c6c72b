//! One pattern of .gitignore without its marks: `?`, `*`, `**` and `[...]`, matched as git matches them.

/// What may stand at one place of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// This byte.
    Byte(u8),
    /// Any byte but a slash: `?`.
    Any,
    /// One of these bytes, and never a slash: `[...]`.
    OneOf(Box<[bool; 256]>),
    /// Bytes without a slash, or none: `*`.
    Run,
    /// Any bytes, or none: `**` at the end.
    Rest,
    /// Directories, or none: the begin of `**/`. The piece after it is `Through`.
    Directories,
    /// Any bytes up to a slash: the rest of `**/`.
    Through,
}

/// Why a pattern can match nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    /// A bracket is not closed.
    OpenBracket,
    /// `[:name:]` has no such name.
    UnknownClass,
    /// Nothing is in the brackets that a byte could be.
    EmptyBracket,
    /// A backslash stands at the end.
    LastBackslash,
}

impl Defect {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::OpenBracket => "its '[' is not closed",
            Self::UnknownClass => "there is no such class of characters",
            Self::EmptyBracket => "nothing is between its brackets, so that it matches nothing",
            Self::LastBackslash => "it ends with a backslash, so that it matches nothing",
        }
    }
}

/// A pattern that is matched against a whole text.
#[derive(Debug, Clone)]
pub(super) struct PathWildcard {
    pieces: Vec<Piece>,
}

impl PathWildcard {
    pub(super) fn parse(pattern: &[u8]) -> Result<Self, Defect> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while let Some(&byte) = pattern.get(at) {
            at += 1;
            match byte {
                b'\\' => {
                    let literal = pattern.get(at).ok_or(Defect::LastBackslash)?;
                    pieces.push(Piece::Byte(*literal));
                    at += 1;
                }
                b'?' => pieces.push(Piece::Any),
                b'*' => at = stars(pattern, at - 1, &mut pieces),
                b'[' => {
                    let (set, end) = bracket(pattern, at)?;
                    pieces.push(Piece::OneOf(set));
                    at = end;
                }
                other => pieces.push(Piece::Byte(other)),
            }
        }
        Ok(Self { pieces })
    }

    /// Whether all of the text is what the pattern says. Takes as many steps as the two are long,
    /// multiplied: no pattern is slow.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let mut now = vec![false; self.pieces.len() + 1];
        now[0] = true;
        self.skip(&mut now);
        for &byte in text {
            let mut next = vec![false; now.len()];
            for (at, piece) in self.pieces.iter().enumerate().filter(|(at, _)| now[*at]) {
                match piece {
                    Piece::Byte(wanted) => next[at + 1] |= *wanted == byte,
                    Piece::Any => next[at + 1] |= byte != b'/',
                    Piece::OneOf(set) => next[at + 1] |= byte != b'/' && set[usize::from(byte)],
                    Piece::Run => next[at] |= byte != b'/',
                    Piece::Rest => next[at] = true,
                    Piece::Directories => {}
                    Piece::Through => {
                        next[at] = true;
                        next[at + 1] |= byte == b'/';
                    }
                }
            }
            self.skip(&mut next);
            now = next;
        }
        now[self.pieces.len()]
    }

    /// What may be none is passed over.
    fn skip(&self, reached: &mut [bool]) {
        for (at, piece) in self.pieces.iter().enumerate() {
            if !reached[at] {
                continue;
            }
            match piece {
                Piece::Run | Piece::Rest => reached[at + 1] = true,
                Piece::Directories => {
                    reached[at + 1] = true;
                    reached[at + 2] = true;
                }
                _ => {}
            }
        }
    }
}

/// Reads the stars that begin at `from`. Returns where they end.
fn stars(pattern: &[u8], from: usize, pieces: &mut Vec<Piece>) -> usize {
    let count = pattern[from..].iter().take_while(|byte| **byte == b'*').count();
    let end = from + count;
    let begins = from == 0 || pattern[from - 1] == b'/';
    let rest = &pattern[end..];
    if count >= 2 && begins && rest.first() == Some(&b'/') {
        pieces.extend([Piece::Directories, Piece::Through]);
        return end + 1;
    }
    let is_all = count >= 2 && begins && (rest.is_empty() || rest.starts_with(b"\\/"));
    pieces.push(if is_all { Piece::Rest } else { Piece::Run });
    end
}

/// Reads what stands between brackets, from behind the first. Returns where the rest begins.
fn bracket(pattern: &[u8], from: usize) -> Result<(Box<[bool; 256]>, usize), Defect> {
    let byte_at = |at: usize| pattern.get(at).copied().ok_or(Defect::OpenBracket);
    let mut set = Box::new([false; 256]);
    let mut at = from;
    let negated = matches!(byte_at(at)?, b'!' | b'^');
    at += usize::from(negated);
    let (first, mut before) = (at, None);
    // A bracket that comes first closes nothing.
    while at == first || byte_at(at)? != b']' {
        let byte = byte_at(at)?;
        let follows = pattern.get(at + 1).copied();
        match (byte, before) {
            (b'\\', _) => {
                let literal = byte_at(at + 1)?;
                set[usize::from(literal)] = true;
                (before, at) = (Some(literal), at + 2);
            }
            (b'-', Some(low)) if follows.is_some_and(|next| next != b']') => {
                let is_escaped = follows == Some(b'\\');
                let high = byte_at(at + 1 + usize::from(is_escaped))?;
                (low..=high).for_each(|byte| set[usize::from(byte)] = true);
                (before, at) = (None, at + 2 + usize::from(is_escaped));
            }
            (b'[', _) if follows == Some(b':') => match class(pattern, at + 2)? {
                Some((name, end)) => {
                    (0..=127)
                        .filter(|byte| is_in(name, *byte))
                        .for_each(|b| set[usize::from(b)] = true);
                    (before, at) = (None, end);
                }
                None => {
                    set[usize::from(b'[')] = true;
                    (before, at) = (Some(b'['), at + 1);
                }
            },
            _ => {
                set[usize::from(byte)] = true;
                (before, at) = (Some(byte), at + 1);
            }
        }
    }
    if negated {
        set.iter_mut().for_each(|is_in| *is_in = !*is_in);
    }
    // A slash is never matched, so that a bracket with nothing else is empty.
    let is_empty = set.iter().enumerate().all(|(byte, is_in)| !is_in || byte == usize::from(b'/'));
    if is_empty { Err(Defect::EmptyBracket) } else { Ok((set, at + 1)) }
}

/// The name in `[:name:]`, from behind the first colon, and where the rest begins. `None`: the bracket
/// is not one of these, and stands for itself.
fn class(pattern: &[u8], from: usize) -> Result<Option<(&[u8], usize)>, Defect> {
    let rest = pattern.get(from..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b']').ok_or(Defect::OpenBracket)?;
    let Some(name) = rest[..end].strip_suffix(b":") else { return Ok(None) };
    if CLASSES.contains(&name) {
        Ok(Some((name, from + end + 1)))
    } else {
        Err(Defect::UnknownClass)
    }
}

/// The names of POSIX.
const CLASSES: [&[u8]; 12] = [
    b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct",
    b"space", b"upper", b"xdigit",
];

fn is_in(class: &[u8], byte: u8) -> bool {
    match class {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte == b' ' || byte.is_ascii_graphic(),
        b"punct" => byte.is_ascii_punctuation(),
        // Git's own, which has neither form feed nor vertical tab.
        b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => byte.is_ascii_uppercase(),
        _ => byte.is_ascii_hexdigit(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        PathWildcard::parse(pattern.as_bytes()).unwrap().matches(text.as_bytes())
    }

    #[test]
    fn one_star_stays_in_a_directory_and_two_lead_through_directories() {
        assert!(matches("a/*/c", "a/b/c") && !matches("a/*", "a/b/c") && matches("a/**", "a/b/c"));
        assert!(matches("**/c", "c") && matches("**/c", "a/b/c") && !matches("**/c", "a/bc"));
        assert!(matches("a/**/c", "a/c") && matches("a/**/c", "a/x/y/c"));
        // Beside anything else than a slash two are as one.
        assert!(!matches("x**y/c", "xa/y/c") && matches("x**y/c", "xay/c"));
    }

    #[test]
    fn brackets_have_ranges_classes_and_opposites() {
        assert!(matches("[a-c]", "b") && !matches("[!a-c]", "b") && matches("[^a-c]", "d"));
        assert!(matches("[]-]", "]") && matches("[]-]", "-") && matches("[a-]", "-"));
        assert!(matches("[[:digit:]x]", "7") && matches("[[:digit:]x]", "x"));
        assert!(matches("[\\]]", "]") && matches("[[:a]", ":") && !matches("[!a]", "/"));
        // Braces and plus signs mean themselves.
        assert!(matches("{a,b}+", "{a,b}+") && !matches("{a,b}", "a"));
    }

    #[test]
    fn what_can_match_nothing_is_told_apart() {
        let defect = |pattern: &str| PathWildcard::parse(pattern.as_bytes()).err();
        assert_eq!(defect("a[b"), Some(Defect::OpenBracket));
        assert_eq!(defect("a[/]"), Some(Defect::EmptyBracket));
        assert_eq!(defect("[[:none:]]"), Some(Defect::UnknownClass));
        assert_eq!(defect("a\\"), Some(Defect::LastBackslash));
        // A range that goes down has its first byte alone, as in git.
        assert_eq!(defect("[z-a]"), None);
        assert!(matches("[z-a]", "z") && !matches("[z-a]", "m"));
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(5000)));
    }
}
