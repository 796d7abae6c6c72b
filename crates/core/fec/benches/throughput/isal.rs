//! Intel's ISA-L, if the machine has it, on our coefficients: its field is the same.

use std::ffi::c_int;

use fanfare_fec::Code;
use libloading::Library;

type InitTables = unsafe extern "C" fn(c_int, c_int, *mut u8, *mut u8);
type EncodeData = unsafe extern "C" fn(c_int, c_int, c_int, *mut u8, *mut *mut u8, *mut *mut u8);
type Invert = unsafe extern "C" fn(*mut u8, *mut u8, c_int) -> c_int;

/// The functions of the library that are measured.
pub(crate) struct IsaL {
    init_tables: InitTables,
    encode_data: EncodeData,
    invert: Invert,
    _library: Library,
}

impl IsaL {
    /// `None` if it is not installed.
    pub(crate) fn load() -> Option<Self> {
        // SAFETY: a well-known library, whose initialisers do nothing of note; the types are those
        // of its header erasure_code.h, and the functions are kept with the library.
        unsafe {
            let library = Library::new("libisal.so.2").ok()?;
            Some(Self {
                init_tables: *library.get(b"ec_init_tables").ok()?,
                encode_data: *library.get(b"ec_encode_data").ok()?,
                invert: *library.get(b"gf_invert_matrix").ok()?,
                _library: library,
            })
        }
    }

    /// A codec with the coefficients of `code`: to encode, or to recover `lost` symbols.
    ///
    /// For recovery the tables are made here, once: inverting k by k as its examples do takes
    /// ISA-L a millisecond for k = 64, which would hide the speed of its kernels.
    pub(crate) fn codec(&self, code: &Code, lost: Option<usize>) -> Codec<'_> {
        let (k, parity) = (code.source(), code.parity());
        // Parity of a block whose symbol j is the unit vector j is the matrix.
        let units: Vec<Vec<u8>> =
            (0..k).map(|j| (0..k).map(|i| u8::from(i == j)).collect()).collect();
        let units: Vec<&[u8]> = units.iter().map(Vec::as_slice).collect();
        let mut rows = vec![vec![0; k]; parity];
        let mut out: Vec<&mut [u8]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
        code.encode(&units, 0, &mut out);
        let rows = rows.concat();
        let tables = match lost {
            None => self.tables(k, parity, &rows),
            Some(lost) => self.tables(k, lost, &self.inverse(k, lost, &rows)),
        };
        Codec { isal: self, k, lost: lost.unwrap_or(0), tables }
    }

    /// Rows of lost symbols 0, 2, 4, … in the inverse of the rows at hand.
    fn inverse(&self, k: usize, lost: usize, parity: &[u8]) -> Vec<u8> {
        let mut matrix = vec![0; k * k];
        for (number, row) in matrix.chunks_mut(k).enumerate() {
            if number % 2 == 0 && number / 2 < lost {
                row.copy_from_slice(&parity[number / 2 * k..][..k]);
            } else {
                row[number] = 1;
            }
        }
        let mut inverse = vec![0; k * k];
        // SAFETY: both are k by k.
        let result =
            unsafe { (self.invert)(matrix.as_mut_ptr(), inverse.as_mut_ptr(), k as c_int) };
        assert_eq!(result, 0);
        (0..lost).flat_map(|i| inverse[2 * i * k..][..k].iter().copied()).collect()
    }

    fn tables(&self, k: usize, rows: usize, matrix: &[u8]) -> Vec<u8> {
        let mut tables = vec![0; 32 * k * rows];
        let mut matrix = matrix.to_vec();
        // SAFETY: k * rows coefficients, and 32 bytes of table for each.
        unsafe {
            (self.init_tables)(k as c_int, rows as c_int, matrix.as_mut_ptr(), tables.as_mut_ptr());
        }
        tables
    }

    fn encode(&self, tables: &mut [u8], sources: &[&[u8]], out: &mut [Vec<u8>]) {
        let length = out[0].len();
        assert!(out.iter().all(|out| out.len() == length));
        assert!(sources.iter().all(|source| source.len() == length));
        assert_eq!(tables.len(), 32 * sources.len() * out.len());
        let mut data: Vec<*mut u8> =
            sources.iter().map(|source| source.as_ptr().cast_mut()).collect();
        let mut coding: Vec<*mut u8> = out.iter_mut().map(|out| out.as_mut_ptr()).collect();
        let (k, rows) = (data.len() as c_int, coding.len() as c_int);
        // SAFETY: the lengths are as asserted; the sources are only read.
        unsafe {
            (self.encode_data)(
                length as c_int,
                k,
                rows,
                tables.as_mut_ptr(),
                data.as_mut_ptr(),
                coding.as_mut_ptr(),
            );
        }
    }
}

/// ISA-L's tables for one job.
pub(crate) struct Codec<'a> {
    isal: &'a IsaL,
    k: usize,
    lost: usize,
    tables: Vec<u8>,
}

impl Codec<'_> {
    /// Encodes a block, or recovers its source symbols 0, 2, 4, …
    pub(crate) fn run(&mut self, source: &[u8], parity: &[Vec<u8>], out: &mut [Vec<u8>]) {
        let mut symbols: Vec<&[u8]> = source.chunks(source.len() / self.k).collect();
        if self.lost == 0 {
            return self.isal.encode(&mut self.tables, &symbols, out);
        }
        for (i, parity) in parity.iter().enumerate().take(self.lost) {
            symbols[2 * i] = parity;
        }
        self.isal.encode(&mut self.tables, &symbols, &mut out[..self.lost]);
    }
}
