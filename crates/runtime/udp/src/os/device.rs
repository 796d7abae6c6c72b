//! Paths for a disk: whether a device is in use, whether names there are those of devices,
//! and whether a pipe's reader has taken everything. Only Linux tells; elsewhere nothing is known.

use std::{fs::File, io, path::Path};

/// Mount of a device, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceMount {
    /// The directory.
    pub at: String,
    /// Programs may write there.
    pub is_writable: bool,
}

#[cfg(target_os = "linux")]
pub use linux::{drained, is_for_devices, loop_over, mounts};

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        collections::BTreeSet,
        fs,
        os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
    };

    use super::{DeviceMount, File, Path, io};

    /// Directories whose names are made by the system: devices, and views of the kernel (hier(7)).
    const OF_SYSTEM: [&str; 3] = ["/dev", "/proc", "/sys"];
    /// Files of programs, in memory, on a file system of their own (shm_overview(7)): no device has a name
    /// there, and none is mistyped so.
    const OF_PROGRAMS: &str = "/dev/shm";
    /// The same file systems at another place.
    const KINDS: [&str; 3] = ["devtmpfs", "proc", "sysfs"];
    /// Time between two looks at whether a pipe has been read.
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    /// A disk, its partitions, and volumes over volumes: deeper nothing is looked for.
    const DEPTH: usize = 8;

    /// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
    struct MountLine<'a> {
        device: &'a str,
        at: &'a str,
        kind: &'a str,
        source: &'a str,
        is_writable: bool,
    }

    impl<'a> MountLine<'a> {
        fn parse(line: &'a str) -> Option<Self> {
            let (first, last) = line.split_once(" - ")?;
            let mut first = first.split(' ').skip(2);
            let (device, at, options) = (first.next()?, first.nth(1)?, first.next()?);
            let mut last = last.split(' ');
            let (kind, source, super_options) = (last.next()?, last.next()?, last.next()?);
            let rw = |options: &str| options.split(',').any(|option| option == "rw");
            let is_writable = rw(options) && rw(super_options);
            Some(Self { device, at, kind, source, is_writable })
        }
    }

    fn number(device: u64) -> String {
        format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
    }

    /// The device, its partitions, and the volumes that lie on any of them.
    fn parts(device: String) -> BTreeSet<String> {
        let (mut all, mut new) = (BTreeSet::new(), vec![device]);
        for _ in 0..DEPTH {
            let mut found = Vec::new();
            for device in new {
                let folder = Path::new("/sys/dev/block").join(&device);
                let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
                let partitions = below(&folder).map(|entry| entry.path());
                let partitions = partitions.filter(|path| path.join("partition").exists());
                let holders = below(&folder.join("holders")).map(|entry| entry.path());
                let numbers = partitions.chain(holders);
                found.extend(numbers.filter_map(|path| fs::read_to_string(path.join("dev")).ok()));
                all.insert(device);
            }
            new = found.iter().map(|number| number.trim().to_owned()).collect();
            new.retain(|number| !all.contains(number));
        }
        all
    }

    /// Mounts of this device, of a partition of it or of a volume on it. Empty for anything else.
    #[must_use]
    pub fn mounts(device: &File) -> Vec<DeviceMount> {
        let meta = device.metadata().ok().filter(|meta| meta.file_type().is_block_device());
        let (Some(meta), Ok(text)) = (meta, fs::read_to_string("/proc/self/mountinfo")) else {
            return Vec::new();
        };
        let parts = parts(number(meta.rdev()));
        let is_of = |line: &MountLine<'_>| {
            // File systems on several devices have a number of their own, and name one of those.
            let source = || fs::metadata(line.source).ok().map(|meta| number(meta.rdev()));
            parts.contains(line.device)
                || line.source.starts_with("/dev/")
                    && source().is_some_and(|number| parts.contains(&number))
        };
        let lines = text.lines().filter_map(MountLine::parse).filter(is_of);
        lines
            .map(|line| DeviceMount { at: line.at.to_owned(), is_writable: line.is_writable })
            .collect()
    }

    /// The loop device that shows this file as a disk.
    #[must_use]
    pub fn loop_over(file: &File) -> Option<String> {
        let meta = file.metadata().ok()?;
        let disks = fs::read_dir("/sys/block").ok()?.flatten();
        disks.map(|disk| disk.path()).find_map(|disk| {
            let backing = fs::read_to_string(disk.join("loop/backing_file")).ok()?;
            let other = fs::metadata(backing.trim_end_matches('\n')).ok()?;
            let same = (other.dev(), other.ino()) == (meta.dev(), meta.ino());
            same.then(|| disk.file_name().unwrap_or_default().to_string_lossy().into_owned())
        })
    }

    /// True if what has a name in this directory is a device, or part of the kernel: a file there has a
    /// mistyped name. The path has no links in it.
    #[must_use]
    pub fn is_for_devices(directory: &Path) -> bool {
        let number = |path: &Path| fs::metadata(path).map(|meta| number(meta.dev()));
        let is_own = directory.starts_with(OF_PROGRAMS)
            && number(Path::new(OF_PROGRAMS)).ok() != number(Path::new("/dev")).ok();
        if !is_own && OF_SYSTEM.iter().any(|system| directory.starts_with(system)) {
            return true;
        }
        let number = number(directory);
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut lines = text.lines().filter_map(MountLine::parse);
        number.is_ok_and(|number| {
            lines.any(|line| line.device == number && KINDS.contains(&line.kind))
        })
    }

    /// Waits until the reader of a pipe has taken everything that was written.
    ///
    /// # Errors
    /// It has gone away before.
    pub fn drained(pipe: &File) -> io::Result<()> {
        if !pipe.metadata()?.file_type().is_fifo() {
            return Ok(());
        }
        loop {
            match rustix::io::ioctl_fionread(pipe) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // A system that does not tell.
                Err(_) => return Ok(()),
            }
            let mut polled = [PollFd::new(pipe, PollFlags::empty())];
            match poll(&mut polled, Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if polled[0].revents().contains(PollFlags::ERR) {
                let left = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
                return if left == 0 { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) };
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_of_mounts_tells_device_place_kind_and_whether_it_is_written_to() {
            let text =
                "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
            let line = MountLine::parse(text).unwrap();
            assert_eq!((line.device, line.at, line.kind), ("98:0", "/mnt2", "ext3"));
            assert!(line.source == "/dev/root" && line.is_writable);
            let read_only = "36 35 98:0 / /mnt2 ro - ext3 /dev/root rw";
            assert!(!MountLine::parse(read_only).unwrap().is_writable);
            assert!(MountLine::parse("36 35 98:0").is_none());
        }

        #[test]
        fn names_beneath_dev_and_wherever_devices_have_names_are_those_of_devices() {
            assert!(
                is_for_devices(Path::new("/dev")) && is_for_devices(Path::new("/dev/disk/by-id"))
            );
            assert!(
                is_for_devices(Path::new("/proc/self")) && is_for_devices(Path::new("/sys/block"))
            );
            assert!(!is_for_devices(Path::new("/")) && !is_for_devices(Path::new("/devices")));
        }

        #[test]
        fn a_pipe_is_drained_when_all_was_read_and_broken_when_its_reader_left_some() {
            use std::io::{Read as _, Write as _};
            let (mut reader, writer) = io::pipe().unwrap();
            let mut writer = File::from(std::os::fd::OwnedFd::from(writer));
            writer.write_all(b"1234").unwrap();
            let thread = std::thread::spawn(move || {
                reader.read_exact(&mut [0; 4]).unwrap();
                reader
            });
            drained(&writer).unwrap();
            let reader = thread.join().unwrap();
            writer.write_all(b"5").unwrap();
            drop(reader);
            assert_eq!(drained(&writer).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }
}

/// Nothing is known of mounts.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn mounts(_: &File) -> Vec<DeviceMount> {
    Vec::new()
}

/// There are no loop devices.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn loop_over(_: &File) -> Option<String> {
    None
}

/// Devices have names beneath /dev where there is such a directory.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_for_devices(directory: &Path) -> bool {
    directory.starts_with("/dev")
}

/// Nobody tells what a reader has taken.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn drained(_: &File) -> io::Result<()> {
    Ok(())
}
