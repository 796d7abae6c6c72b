//! Memory that a program may take over and free: from its own allocator, or the C library's.

use std::{ffi::c_char, ptr::NonNull, slice};

/// `char* alloc(size_t)` of a program.
pub type Alloc = unsafe extern "C" fn(usize) -> *mut c_char;
/// `void free(char*)` of a program.
pub type Free = unsafe extern "C" fn(*mut c_char);

/// Where memory comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hooks {
    own: Option<(Alloc, Free)>,
}

impl Hooks {
    /// Both of a program, or neither.
    #[must_use]
    pub fn new(alloc: Option<Alloc>, free: Option<Free>) -> Self {
        Self { own: alloc.zip(free) }
    }
}

/// Bytes from there. They are freed with this value unless the program takes them over.
#[derive(Debug)]
pub struct HeapBuffer {
    start: NonNull<u8>,
    len: usize,
    free: Option<Free>,
}

// SAFETY: the memory belongs to this value alone; freeing it on another thread than the one that it
// came from is what the interface asks of a program's functions.
unsafe impl Send for HeapBuffer {}

impl HeapBuffer {
    /// So many bytes, all zero. `None` when there is no memory for them.
    #[must_use]
    pub fn new(len: usize, hooks: Hooks) -> Option<Self> {
        let (start, free) = match hooks.own {
            Some((alloc, free)) => {
                // SAFETY: a function of the program's with this signature; what it gives is checked.
                let start = unsafe { alloc(len.max(1)) }.cast::<u8>();
                let start = NonNull::new(start)?;
                // SAFETY: the program's allocator gave at least `len` bytes.
                unsafe { start.as_ptr().write_bytes(0, len) };
                (start, Some(free))
            }
            // SAFETY: plain C; the pages are given as they are written.
            None => (NonNull::new(unsafe { libc::calloc(len.max(1), 1) }.cast::<u8>())?, None),
        };
        Some(Self { start, len, free })
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes were allocated and written; they live as long as this value.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed for it alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Where they are.
    #[must_use]
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Leaves them to the program, which frees them.
    #[must_use]
    pub fn into_address(self) -> usize {
        let address = self.address();
        std::mem::forget(self);
        address
    }
}

impl Drop for HeapBuffer {
    fn drop(&mut self) {
        match self.free {
            // SAFETY: it came from the program's allocator, which this function belongs to.
            Some(free) => unsafe { free(self.start.as_ptr().cast()) },
            // SAFETY: it came from `calloc`, and nobody else frees it.
            None => unsafe { libc::free(self.start.as_ptr().cast()) },
        }
    }
}

/// NormAlloc.
pub(super) fn alloc(len: usize) -> usize {
    HeapBuffer::new(len, Hooks::default()).map_or(0, HeapBuffer::into_address)
}

/// NormFree.
///
/// # Safety
/// `address` is null or came from [`alloc`], or from an object whose data was detached.
pub(super) unsafe fn free(address: *mut c_char) {
    // SAFETY: what the caller says.
    unsafe { libc::free(address.cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_can_be_written() {
        let mut buffer = HeapBuffer::new(4, Hooks::default()).unwrap();
        assert_eq!(buffer.as_slice(), [0; 4]);
        buffer.as_mut_slice()[1] = 7;
        assert_eq!(buffer.as_slice(), [0, 7, 0, 0]);
        assert!(HeapBuffer::new(0, Hooks::default()).unwrap().as_slice().is_empty());
    }
}
