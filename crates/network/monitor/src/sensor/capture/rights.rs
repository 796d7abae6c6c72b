//! What a sensor gives up once its sockets are open: all capabilities, the ways to get them back, and root.

use std::io;

/// "nobody" of Debian and most others: it owns nothing.
const NOBODY: libc::uid_t = 65_534;
/// linux/capability.h, its third version: two words of each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Head {
    version: u32,
    process: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up everything that packets needed. Of this thread and those that it starts: it is called before
/// there are others.
pub fn give_up_rights() -> io::Result<()> {
    let failed = |done: libc::c_long| match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: these calls take numbers only.
    unsafe {
        failed(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        if libc::geteuid() == 0 {
            failed(libc::setgroups(0, std::ptr::null()).into())?;
            failed(libc::setresgid(NOBODY, NOBODY, NOBODY).into())?;
            failed(libc::setresuid(NOBODY, NOBODY, NOBODY).into())?;
        }
    }
    let head = Head { version: VERSION, process: 0 };
    let none = [Sets::default(); 2];
    const { assert!(size_of::<Sets>() == 12) };
    // SAFETY: both are as linux/capability.h has them, and the kernel only reads the second.
    failed(unsafe { libc::syscall(libc::SYS_capset, &raw const head, none.as_ptr()) })
}
