//! The terminal that bars are drawn on. It may go away at any moment: whoever draws is never told, as
//! indicatif 0.18 panics on an error of the terminal (`MultiState::suspend`), and would end a transfer.

use std::{
    io::{self, Write as _},
    sync::{Mutex, PoisonError},
};

use indicatif::{ProgressDrawTarget, TermLike};

/// Draws a second: as often as indicatif itself draws on standard error.
const HERTZ: u8 = 20;
/// A terminal that does not tell its size (VT100).
const SIZE: (u16, u16) = (80, 24);

/// Standard error, drawn on with control sequences (ECMA-48).
#[derive(Debug, Default)]
struct ErrorTerminal {
    /// Drawn at the next flush, with one write.
    waiting: Mutex<String>,
}

impl ErrorTerminal {
    fn add(&self, text: &str) -> io::Result<()> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    /// Moves by so many; 0 would mean 1.
    fn go(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.add(&format!("\x1b[{n}{direction}")) }
    }

    fn size() -> (u16, u16) {
        let size = fanfare_udp::os::terminal::size(io::stderr());
        size.filter(|size| size.0 > 0 && size.1 > 0).unwrap_or(SIZE)
    }
}

impl TermLike for ErrorTerminal {
    fn width(&self) -> u16 {
        Self::size().0
    }

    fn height(&self) -> u16 {
        Self::size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let text =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

/// Terminal on which bars are drawn; none where standard error is no terminal, or a dumb one.
pub(crate) fn target() -> ProgressDrawTarget {
    let usual = ProgressDrawTarget::stderr();
    // Older consoles of Windows know no control sequences.
    if usual.is_hidden() || cfg!(windows) {
        return usual;
    }
    ProgressDrawTarget::term_like_with_hz(Box::<ErrorTerminal>::default(), HERTZ)
}
