//! A terminal that shows lines anew and anew, on a screen of its own, until `q` is pressed.

use std::{
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use fanfare_udp::os::{
    input::is_readable,
    terminal::{self, Raw},
};

/// Where the size is not known.
const USUAL: (usize, usize) = (80, 24);
/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HELP: &str = "q ends, up and down move";

/// A terminal; as it was before when this is dropped.
#[derive(Debug)]
pub struct Screen {
    /// Keys come at once and are not shown.
    raw: Option<Raw>,
    /// The first line that is shown.
    top: usize,
}

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Quit,
    Up(usize),
    Down(usize),
}

impl Screen {
    /// Takes the terminal; `None` where standard input and output are none.
    #[must_use]
    pub fn take() -> Option<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        let raw = Some(Raw::take()?);
        let _ = write!(io::stdout(), "{ENTER}").and_then(|()| io::stdout().flush());
        Some(Self { raw, top: 0 })
    }

    /// How wide it is.
    #[must_use]
    pub fn width(&self) -> usize {
        size().0
    }

    /// Shows these lines, from where it has been moved to.
    pub fn show(&mut self, lines: &[String]) -> io::Result<()> {
        let (width, height) = size();
        let room = height.saturating_sub(1).max(1);
        self.top = self.top.min(lines.len().saturating_sub(room));
        let mut text = String::from("\x1b[H");
        for line in lines.iter().skip(self.top).take(room) {
            text.push_str(&format!("{line}\x1b[K\r\n"));
        }
        let hidden = lines.len().saturating_sub(self.top + room);
        let more = if hidden > 0 { format!(", {hidden} more lines") } else { String::new() };
        let foot: String = format!("{HELP}{more}").chars().take(width).collect();
        text.push_str(&format!("\x1b[J{foot}"));
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Waits for a key; true when it ends. Lines may have moved then.
    pub fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        match is_readable(io::stdin(), patience) {
            Ok(false) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            looked => looked?,
        };
        let mut bytes = [0; 16];
        let count = terminal::read_keys(&mut bytes)?;
        match key(&bytes[..count]) {
            Some(Key::Quit) => return Ok(true),
            Some(Key::Up(lines)) => self.top = self.top.saturating_sub(lines),
            Some(Key::Down(lines)) => self.top = self.top.saturating_add(lines),
            None => {}
        }
        // Nobody is at the other end any more.
        Ok(count == 0)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.raw = None;
        let _ = write!(io::stdout(), "{LEAVE}").and_then(|()| io::stdout().flush());
    }
}

fn key(bytes: &[u8]) -> Option<Key> {
    match bytes {
        b"q" | b"Q" | b"\x1b" => Some(Key::Quit),
        b"k" | b"\x1b[A" => Some(Key::Up(1)),
        b"j" | b"\x1b[B" => Some(Key::Down(1)),
        b"\x1b[5~" => Some(Key::Up(20)),
        b" " | b"\x1b[6~" => Some(Key::Down(20)),
        _ => None,
    }
}

fn size() -> (usize, usize) {
    match terminal::size(io::stdout()) {
        Some((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
        _ => USUAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_move_and_end() {
        assert_eq!(key(b"q"), Some(Key::Quit));
        assert_eq!((key(b"\x1b[A"), key(b"\x1b[B")), (Some(Key::Up(1)), Some(Key::Down(1))));
        assert_eq!(key(b"x"), None);
    }
}
