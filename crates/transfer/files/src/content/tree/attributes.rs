//! Extended attributes of an open file or directory. ACLs and capabilities are attributes, too.

use fanfare_udp::os::fd::BorrowedFd;
use std::ffi::CString;

use fanfare_udp::os::{
    fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr},
    io::Errno,
};

use super::entry::{Attribute, Carried};

/// Namespace of what the kernel makes of ACLs.
const ACL: &[u8] = b"system.posix_acl_";
const SYSTEM: &[u8] = b"system.";
/// Where SELinux keeps labels, which are each machine's own.
const SELINUX: &[u8] = b"security.selinux";
/// Room for most lists and values, and for all: linux/limits.h, `XATTR_LIST_MAX`, `XATTR_SIZE_MAX`.
const USUAL: usize = 1 << 10;
const MAX: usize = 64 << 10;

/// Whether an attribute is of a class that is carried.
fn is_carried(carried: Carried, name: &[u8]) -> bool {
    if name.starts_with(SYSTEM) {
        return carried.acls && name.starts_with(ACL);
    }
    carried.attributes && name != SELINUX
}

/// Those of an open file that are carried, in the order of their names. A file system without any has
/// none.
pub(super) fn of(file: BorrowedFd<'_>, carried: Carried) -> Result<Vec<Attribute>, Errno> {
    if !carried.has_attributes() {
        return Ok(Vec::new());
    }
    let list = match grown(|room| flistxattr(file, room)) {
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        list => list?,
    };
    let mut attributes = Vec::new();
    for name in list.split(|byte| *byte == 0).filter(|name| is_carried(carried, name)) {
        let Some(text) = CString::new(name).ok().filter(|name| !name.is_empty()) else { continue };
        match grown(|room| fgetxattr(file, &text, room)) {
            Ok(value) => attributes.push((name.to_vec(), value)),
            // Gone meanwhile, or listed for somebody else.
            Err(Errno::NODATA | Errno::ACCESS | Errno::PERM | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno),
        }
    }
    attributes.sort();
    Ok(attributes)
}

/// Gives an open file these attributes and, of those that are carried, no others. False where the
/// system does not allow all of it.
pub(super) fn set(
    file: BorrowedFd<'_>,
    carried: Carried,
    wanted: &[Attribute],
) -> Result<bool, Errno> {
    if !carried.has_attributes() {
        return Ok(true);
    }
    let here = of(file, carried)?;
    let mut is_all = true;
    let mut note = |done: Result<(), Errno>| match done {
        Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::INVAL) => {
            is_all = false;
            Ok(())
        }
        Err(Errno::NODATA) => Ok(()),
        other => other,
    };
    for (name, _) in here.iter().filter(|(name, _)| wanted.iter().all(|(n, _)| n != name)) {
        let Ok(name) = CString::new(name.as_slice()) else { continue };
        note(fremovexattr(file, &name))?;
    }
    for (name, value) in wanted.iter().filter(|(name, _)| is_carried(carried, name)) {
        if here.iter().any(|(n, v)| n == name && v == value) {
            continue;
        }
        let Ok(name) = CString::new(name.as_slice()) else { continue };
        note(fsetxattr(file, &name, value, XattrFlags::empty()))?;
    }
    Ok(is_all)
}

/// What a call fills into a room of unknown size.
fn grown(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; USUAL];
    let read = match call(&mut bytes) {
        Err(Errno::RANGE) => {
            bytes.resize(MAX, 0);
            call(&mut bytes)
        }
        read => read,
    };
    bytes.truncate(read?);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use fanfare_udp::os::fd::AsFd;
    use std::fs::File;

    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    const ONLY: Carried =
        Carried { attributes: true, owner: false, acls: false, special_bits: false };

    #[test]
    fn attributes_become_those_that_are_wanted() {
        let scratch = Scratch::new();
        let file = File::create(scratch.path().join("f")).unwrap();
        let fd = file.as_fd();
        let text = |name: &str| CString::new(name).unwrap();
        if fsetxattr(fd, text("user.old"), b"1", XattrFlags::empty()).is_err() {
            // This file system has none.
            return;
        }
        let wanted: Vec<Attribute> =
            vec![(b"user.a".to_vec(), b"\0x".to_vec()), (b"user.empty".to_vec(), vec![])];
        assert_eq!(set(fd, ONLY, &wanted), Ok(true));
        assert_eq!(of(fd, ONLY), Ok(wanted.clone()));
        let acl = (b"system.posix_acl_access".to_vec(), b"no".to_vec());
        assert_eq!(set(fd, ONLY, &[acl]), Ok(true), "of another class");
        assert_eq!(of(fd, ONLY), Ok(vec![]));
        assert_eq!(of(fd, Carried::default()), Ok(vec![]));
    }
}
