//! Factors of a combination of symbols.

/// A matrix of GF(2^8): those of one source together, `stride` apart from source to source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coefficients<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stride: usize,
    pub(super) first: usize,
}

impl<'a> Coefficients<'a> {
    /// Row 0 is row `first` of the `stride` rows in `bytes`.
    pub(crate) fn new(bytes: &'a [u8], stride: usize, first: usize) -> Self {
        Self { bytes, stride, first }
    }

    /// For each source, its coefficients in rows from `row` on.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn columns(&self, row: usize) -> impl Iterator<Item = &'a [u8]> {
        let first = self.first + row;
        self.bytes.chunks_exact(self.stride).map(move |column| &column[first..])
    }

    /// Coefficients of source `column` in rows from `row` on.
    pub(super) fn of(&self, column: usize, row: usize) -> &'a [u8] {
        &self.bytes[column * self.stride..][..self.stride][self.first + row..]
    }
}
