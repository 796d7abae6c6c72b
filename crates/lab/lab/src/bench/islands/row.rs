//! One transfer: what happened to a relay, and what it came to.

/// What happens to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IslandCase {
    /// Nothing.
    Undisturbed,
    /// It is killed in the middle, and another one is started in its place.
    Replaced,
    /// It is killed in the middle, and one that stands by takes over.
    TakenOver,
}

impl IslandCase {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Undisturbed, Self::Replaced, Self::TakenOver];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undisturbed => "undisturbed",
            Self::Replaced => "replaced",
            Self::TakenOver => "taken-over",
        }
    }
}

/// One transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct IslandRow {
    pub(crate) case: IslandCase,
    pub(crate) repetition: u32,
    pub(crate) size: u64,
    /// Receivers in all islands.
    pub(crate) receivers: usize,
    /// Receipts that the sender has.
    pub(crate) receipts: usize,
    /// Receivers whose file is what was sent.
    pub(crate) right: usize,
    /// What the long link of each island behind one carried, with all headers and what was lost on it, by the
    /// size of the file.
    pub(crate) links: Vec<(&'static str, f64)>,
    /// Until the sender has ended.
    pub(crate) seconds: f64,
    /// Programs that ran or waited for a processor, over a minute, at the end.
    pub(crate) load: f64,
}

impl IslandRow {
    /// Some receiver has no file, or no receipt came.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.receipts != self.receivers || self.right != self.receivers
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { case, repetition, receivers, receipts, seconds, load, .. } = self;
        let link = |(name, times): &(&str, f64)| format!("{name} {times:.3}");
        let links: Vec<String> = self.links.iter().map(link).collect();
        let (case, links) = (case.name(), links.join(", "));
        format!(
            "{case} #{repetition}: {receipts} of {receivers} receipts in {seconds:.1} s; links {links} x \
             file; load {load:.1}"
        )
    }
}
