//! What a file is, for systems that tell it in other widths than Linux, or by other calls.

/// What a file is, in the widths of Linux.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "stat(2) says it")]
pub struct Stat {
    pub st_dev: u64,
    pub st_ino: u64,
    pub st_mode: u32,
    pub st_nlink: u64,
    pub st_uid: u32,
    pub st_gid: u32,
    pub st_size: i64,
    pub st_blocks: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: u64,
    pub st_ctime: i64,
    pub st_ctime_nsec: u64,
}
