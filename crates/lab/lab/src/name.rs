//! Finds one of a few choices by the name that options and tables use.

/// The one of `all` that is called so; else why not, and how they are called.
pub(crate) fn find<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
    not: &str,
) -> Result<T, String> {
    let found = all.into_iter().find(|one| name(*one) == text);
    found.ok_or_else(|| format!("{not}. Use some of {}", all.map(name).join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::{MessagingSystem, Radio, Relay, System};

    #[test]
    fn all_are_found_by_their_names_and_unknown_ones_are_told_them() {
        assert_eq!(System::ALL.map(|one| one.name().parse()), System::ALL.map(Ok));
        assert_eq!(
            MessagingSystem::ALL.map(|one| one.name().parse()),
            MessagingSystem::ALL.map(Ok)
        );
        assert_eq!(Relay::ALL.map(|one| one.name().parse()), Relay::ALL.map(Ok));
        assert_eq!(Radio::ALL.map(|one| one.name().parse()), Radio::ALL.map(Ok));
        let why = "x".parse::<Relay>().unwrap_err();
        assert_eq!(why, "has no part in this table. Use some of fanfare, norm");
    }
}
