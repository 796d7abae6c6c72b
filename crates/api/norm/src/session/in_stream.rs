//! What a stream to read has beside what the engine knows.

/// What a stream to read has beside what the engine knows.
#[derive(Debug, Default)]
pub(crate) struct InStream {
    /// The symbol under way, and how much of it was read.
    pub(super) symbol: Vec<u8>,
    pub(super) read: usize,
    /// Where in it the first message begins.
    pub(super) start: Option<usize>,
    /// Position of the next byte.
    pub(super) offset: u64,
    /// Something was read of it.
    pub(super) begun: bool,
    /// Its beginning was missed, and the program was not told.
    pub(super) missed: bool,
    /// A gap was found behind bytes that were just given.
    pub(super) gap: bool,
    pub(super) ended: bool,
}

impl InStream {
    pub(super) fn rest(&self) -> &[u8] {
        &self.symbol[self.read..]
    }

    pub(super) fn pass(&mut self, count: usize) {
        self.read += count;
        self.offset += count as u64;
        self.start = self.start.filter(|start| *start >= self.read);
    }
}

impl InStream {
    /// Position of the next byte, as the interface tells it.
    pub(crate) fn offset(&self) -> u32 {
        self.offset as u32
    }

    /// Whether something of a symbol waits to be read.
    pub(crate) fn has_rest(&self) -> bool {
        !self.rest().is_empty()
    }
}
