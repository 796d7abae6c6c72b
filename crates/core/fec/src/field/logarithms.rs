//! Products by tables of logarithms.

/// Logarithms to the base a = 2, which is primitive in both fields (RFC 5510 8.1).
pub(crate) trait Logarithms {
    /// Order of a: its powers repeat after so many.
    const ORDER: u32;
    /// a to the power of `log`, which is below three times [`Self::ORDER`].
    fn exp(log: u32) -> u16;
    /// Logarithm of `element`, below [`Self::ORDER`]. That of zero is given as 0, so that a factor
    /// of zero drops out of a product: callers that mean "all but this point" rely on it.
    fn log(element: u16) -> u32;
}
