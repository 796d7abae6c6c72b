//! SPDX expressions (SPDX 2.3, annex D): `MIT OR (Apache-2.0 AND ISC)`. An old form has a slash for `OR`.

/// Whether an expression can be satisfied with licences that are allowed.
pub(super) fn allows(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    reader.any() == Some(true) && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    /// `None`: it is no expression.
    fn any(&mut self) -> Option<bool> {
        let mut holds = self.all()?;
        while self.take("OR") {
            holds |= self.all()?;
        }
        Some(holds)
    }

    /// `AND` binds before `OR`.
    fn all(&mut self) -> Option<bool> {
        let mut holds = self.one()?;
        while self.take("AND") {
            holds &= self.one()?;
        }
        Some(holds)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let holds = self.any()?;
            return self.take(")").then_some(holds);
        }
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        if !self.take("WITH") {
            return Some((self.allowed)(name));
        }
        let (exception, rest) = self.words.split_first()?;
        self.words = rest;
        Some((self.allowed)(&format!("{name} WITH {exception}")))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_holds_when_one_of_its_choices_is_allowed_in_full() {
        let allowed = |one: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&one);
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT AND ISC",
            "(GPL-3.0-only OR MIT) AND ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(allows(good, &allowed), "{good}");
        }
        for bad in
            ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0", "(MIT", "MIT OR", "MIT MIT"]
        {
            assert!(!allows(bad, &allowed), "{bad}");
        }
    }
}
