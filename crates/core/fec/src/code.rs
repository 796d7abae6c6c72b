//! An erasure code, and computing parity from source symbols.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::field::{Field, Gf8, Gf16};
use crate::kernel::{Active, Coefficients, Kernel};
use crate::matrix::{Matrix, Points};

/// A systematic code of `source` source and `parity` parity symbols.
///
/// Blocks may be shortened: with fewer source symbols than the code has, the absent ones count as
/// zero and do not travel; parity number `p` is always row `source + p` of the full code.
///
/// Over GF(2^8) all coefficients are kept (at most 16 KiB); over GF(2^16) only two bytes a symbol
/// (at most 128 KiB), and each use makes the coefficients it needs. A code is made in
/// O(source + parity). Clones share all that.
#[derive(Clone)]
pub struct Code {
    pub(crate) matrix: Matrix,
    pub(crate) source: usize,
    pub(crate) parity: usize,
    pub(crate) tables: Arc<Tables>,
    pub(crate) kernel: Active,
}

/// What a code keeps, by field.
#[derive(Debug)]
pub(crate) enum Tables {
    Gf8 {
        points: Points<Gf8>,
        /// Coefficient of source j in parity t at `j * parity + t`.
        coefficients: Vec<u8>,
    },
    Gf16 {
        points: Points<Gf16>,
    },
}

/// Why a code cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeError {
    /// No source symbols.
    NoSource,
    /// More symbols than the field has points for.
    TooMany {
        /// Source and parity symbols asked for.
        symbols: usize,
        /// Most symbols of the field: 255 or 65535.
        limit: usize,
    },
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSource => write!(f, "a code needs at least one source symbol"),
            Self::TooMany { symbols, limit } => {
                write!(f, "{symbols} symbols in a block, the field has {limit}")
            }
        }
    }
}

impl core::error::Error for CodeError {}

impl Code {
    /// Makes the code, with the fastest kernel of this machine.
    ///
    /// # Errors
    /// [`CodeError`] if there is no source symbol, or if `source + parity` is above
    /// [`Field::max_symbols`].
    pub fn new(
        field: Field,
        matrix: Matrix,
        source: usize,
        parity: usize,
    ) -> Result<Self, CodeError> {
        let (symbols, limit) = (source.saturating_add(parity), field.max_symbols());
        if source == 0 {
            return Err(CodeError::NoSource);
        }
        if symbols > limit {
            return Err(CodeError::TooMany { symbols, limit });
        }
        let tables = Arc::new(match field {
            Field::Gf8 => Tables::gf8(Points::new(matrix, source, parity), source, parity),
            Field::Gf16 => Tables::Gf16 { points: Points::new(matrix, source, parity) },
        });
        Ok(Self { matrix, source, parity, tables, kernel: Active::best() })
    }

    /// The same code, computed by `kernel`; `None` if this machine does not have it.
    /// For tests and measurements: all kernels give the same bytes.
    #[must_use]
    pub fn with_kernel(self, kernel: Kernel) -> Option<Self> {
        Some(Self { kernel: Active::new(kernel)?, ..self })
    }

    /// Source symbols of a full block.
    #[must_use]
    pub fn source(&self) -> usize {
        self.source
    }

    /// Parity symbols a block can have.
    #[must_use]
    pub fn parity(&self) -> usize {
        self.parity
    }

    /// Field over which the code works.
    #[must_use]
    pub fn field(&self) -> Field {
        match *self.tables {
            Tables::Gf8 { .. } => Field::Gf8,
            Tables::Gf16 { .. } => Field::Gf16,
        }
    }

    /// Evaluation points of the code.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        self.matrix
    }

    /// The kernel that computes.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel.kernel()
    }

    /// Computes parity `first..first + out.len()` of a block into `out` (overwritten; all of one
    /// length, the symbol length). `source` holds the block's source symbols in order; each may be
    /// shorter than the symbol length and counts as padded with zeros.
    ///
    /// # Panics
    /// On a caller's mistake: more source symbols than the code has, parity numbers beyond the
    /// code's, outputs of unequal length (odd over GF(2^16)), a source longer than the outputs.
    pub fn encode(&self, source: &[&[u8]], first: usize, out: &mut [&mut [u8]]) {
        let Some(length) = out.first().map(|symbol| symbol.len()) else { return };
        assert!(source.len() <= self.source, "{} source symbols", source.len());
        let last = first.checked_add(out.len());
        assert!(last.is_some_and(|last| last <= self.parity), "parity from {first}");
        assert!(length.is_multiple_of(self.field().element_size()), "symbol length {length}");
        assert!(out.iter().all(|symbol| symbol.len() == length), "symbols of unequal length");
        assert!(source.iter().all(|symbol| symbol.len() <= length), "source above {length}");
        match &*self.tables {
            Tables::Gf8 { coefficients, .. } => {
                let rows = Coefficients::new(coefficients, self.parity, first);
                self.kernel.sum8(rows, source, out);
            }
            Tables::Gf16 { points } => {
                let coefficient = |row, column| points.coefficient(first + row, column);
                self.kernel.sum16(coefficient, source, out);
            }
        }
    }
}

impl Tables {
    fn gf8(points: Points<Gf8>, source: usize, parity: usize) -> Self {
        let columns = (0..source).flat_map(|column| (0..parity).map(move |row| (row, column)));
        let coefficients =
            columns.map(|(row, column)| points.coefficient(row, column) as u8).collect();
        Self::Gf8 { points, coefficients }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code")
            .field("field", &self.field())
            .field("matrix", &self.matrix)
            .field("source", &self.source)
            .field("parity", &self.parity)
            .field("kernel", &self.kernel())
            .finish()
    }
}
