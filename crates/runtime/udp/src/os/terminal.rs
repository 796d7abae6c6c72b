//! Terminals, and pipes in their place.

#[cfg(unix)]
pub use unix::{Raw, is_read, read_keys, size, takes_some};
#[cfg(windows)]
pub use windows::{Raw, is_read, read_keys, size, takes_some};

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fd::AsFd,
        termios::{
            LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
            tcsetattr,
        },
    };

    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    /// Columns and rows of a terminal.
    pub fn size(of: impl AsFd) -> Option<(u16, u16)> {
        tcgetwinsize(of).ok().map(|size| (size.ws_col, size.ws_row))
    }

    /// Whether an output takes something now: a pipe that nobody reads may be full.
    pub fn takes_some(output: impl AsFd) -> bool {
        let mut pipe = [PollFd::new(&output, PollFlags::OUT)];
        poll(&mut pipe, Some(&AT_ONCE)).is_ok_and(|ready| ready > 0)
    }

    /// Whether somebody reads an output. A pipe tells that nobody has its other end any more, before
    /// anything is written to it.
    pub fn is_read(output: impl AsFd) -> bool {
        let mut pipe = [PollFd::new(&output, PollFlags::empty())];
        let polled = poll(&mut pipe, Some(&AT_ONCE));
        polled.is_err() || !pipe[0].revents().contains(PollFlags::ERR)
    }

    /// Reads what has been typed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_keys(into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin(), into)?)
    }

    /// The terminal of standard input, whose keys come at once and are not shown; Ctrl-C still is a
    /// signal. As it was before when this is dropped.
    #[derive(Debug)]
    pub struct Raw(Termios);

    impl Raw {
        /// `None`: it is no terminal.
        #[must_use]
        pub fn take() -> Option<Self> {
            let before = tcgetattr(io::stdin()).ok()?;
            let mut raw = before.clone();
            raw.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
            raw.special_codes[SpecialCodeIndex::VMIN] = 0;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(io::stdin(), OptionalActions::Now, &raw).ok()?;
            Some(Self(before))
        }
    }

    impl Drop for Raw {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::{
        fs::File,
        io::{self, Read as _},
    };

    use crate::os::{fd::AsFd, windows::console};

    /// Columns and rows of a terminal.
    pub fn size(of: impl AsFd) -> Option<(u16, u16)> {
        console::size(of)
    }

    /// This system does not tell: a pipe is taken for one that is read.
    pub fn takes_some(_: impl AsFd) -> bool {
        true
    }

    /// This system does not tell before something is written.
    pub fn is_read(_: impl AsFd) -> bool {
        true
    }

    /// Reads what has been typed.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_keys(into: &mut [u8]) -> io::Result<usize> {
        File::from(io::stdin().as_fd().try_clone_to_owned()?).read(into)
    }

    /// The terminal of standard input, whose keys come at once and are not shown; Ctrl-C still ends
    /// the program. As it was before when this is dropped.
    #[derive(Debug)]
    pub struct Raw(u32);

    impl Raw {
        /// `None`: it is no terminal.
        #[must_use]
        pub fn take() -> Option<Self> {
            console::take_keys(io::stdin()).map(Self)
        }
    }

    impl Drop for Raw {
        fn drop(&mut self) {
            console::give_back(io::stdin(), self.0);
        }
    }
}
