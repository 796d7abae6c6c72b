//! Erasure codes over symbols: bytes in, bytes out.
//!
//! Systematic Reed-Solomon over GF(2^8) and GF(2^16). The default evaluation points are those of
//! NRL's NORM, so that parity is byte for byte what its receivers expect; RFC 5510's are an option.
//!
//! In reading order:
//! - `field`: numbers of the two fields, as logarithms;
//! - `matrix`: which point a symbol stands for, and the coefficients that follow from it;
//! - `code`: [`Code`], and parity from source symbols;
//! - `recover`: missing source symbols from the others and parity;
//! - `combination`: sums of what is here of a block; [`Elimination`]: what follows from such sums;
//! - `kernel`: the same sum of products for each kind of processor. The only unsafe code;
//! - [`fountain`]: RaptorQ (RFC 6330), for who sends without being asked.
//!
//! ```
//! use fanfare_fec::{Code, Field, Matrix};
//! let code = Code::new(Field::Gf8, Matrix::Nrl, 4, 2)?;
//! let source: [&[u8]; 4] = [b"mary", b"had ", b"a li", b"ttle"];
//! let (mut p0, mut p1) = ([0; 4], [0; 4]);
//! code.encode(&source, 0, &mut [&mut p0, &mut p1]);
//!
//! // Symbols 0 and 2 are lost.
//! let (mut s0, mut s2) = ([0; 4], [0; 4]);
//! code.recover(
//!     4,
//!     &[(1, source[1]), (3, source[3])],
//!     &[(0, &p0), (1, &p1)],
//!     &mut [(0, &mut s0), (2, &mut s2)],
//! )?;
//! assert_eq!((&s0, &s2), (b"mary", b"a li"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Feature `std` (default) finds the processor's vector instructions at run time. Without it the
//! crate is `no_std` with `alloc` and uses what the compiler may assume of the target. Feature
//! `fountain` brings the codec of [`fountain`], and the crate `raptorq` with it.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod code;
mod combination;
mod elimination;
mod field;
pub mod fountain;
mod kernel;
mod matrix;
mod recover;

pub use code::{Code, CodeError};
pub use combination::{coefficient, combine};
pub use elimination::{Elimination, dot, inverse, product};
pub use field::Field;
pub use kernel::Kernel;
pub use matrix::Matrix;
pub use recover::RecoverError;
