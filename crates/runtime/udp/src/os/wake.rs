//! Wakes a thread that waits for sockets.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub use linux::Bell;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub use plain::Bell;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::{
        io,
        os::fd::{AsFd, BorrowedFd, OwnedFd},
    };

    use rustix::event::{EventfdFlags, eventfd};

    /// A descriptor that becomes readable when somebody rings.
    #[derive(Debug)]
    pub struct Bell(OwnedFd);

    impl Bell {
        /// One that nobody has rung yet.
        ///
        /// # Errors
        /// What the system says.
        pub fn new() -> io::Result<Self> {
            Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
        }

        /// Makes it readable.
        pub fn ring(&self) {
            // Full means that it is readable already.
            let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
        }

        /// Forgets the calls so far.
        pub fn clear(&self) {
            let _ = rustix::io::read(&self.0, &mut [0; 8]);
        }

        /// What to wait for.
        #[must_use]
        pub fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod plain {
    use std::{
        io,
        net::{Ipv4Addr, UdpSocket},
    };

    #[cfg(unix)]
    use std::os::fd::{AsFd as _, BorrowedFd};
    #[cfg(windows)]
    use std::os::windows::io::{AsSocket as _, BorrowedSocket as BorrowedFd};

    /// A socket that becomes readable when somebody rings: it sends to itself, and hears nobody else.
    #[derive(Debug)]
    pub struct Bell(UdpSocket);

    impl Bell {
        /// One that nobody has rung yet.
        ///
        /// # Errors
        /// What the system says.
        pub fn new() -> io::Result<Self> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.connect(socket.local_addr()?)?;
            socket.set_nonblocking(true)?;
            Ok(Self(socket))
        }

        /// Makes it readable.
        pub fn ring(&self) {
            // Full means that it is readable already.
            let _ = self.0.send(&[1]);
        }

        /// Forgets the calls so far.
        pub fn clear(&self) {
            while self.0.recv(&mut [0; 8]).is_ok() {}
        }

        /// What to wait for.
        #[must_use]
        #[cfg(unix)]
        pub fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }

        /// What to wait for.
        #[must_use]
        #[cfg(windows)]
        pub fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_socket()
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::os::input::is_readable;

    #[test]
    fn a_bell_is_heard_after_it_was_rung_and_until_it_is_cleared() {
        let bell = Bell::new().unwrap();
        let is_heard = || is_readable(bell.as_fd(), Duration::ZERO).unwrap();
        assert!(!is_heard());
        bell.ring();
        bell.ring();
        assert!(is_heard());
        bell.clear();
        assert!(!is_heard());
    }
}
