//! What people see while it runs: text and a bar on standard error, JSON on standard output.

use std::{
    fmt,
    io::{self, ErrorKind, Write},
    process::exit,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_udp::os::{io::Errno, terminal};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use serde::Serialize;

use crate::{
    Exit, Failure, Printable, error_terminal,
    notice::{Notice, Of, to_text, warning_text},
    rows::Rows,
};

/// The system's number for why standard output took nothing; 0 while it takes all.
static REFUSED: AtomicI32 = AtomicI32::new(0);
/// JSON was asked for, and its last line has been printed.
static JSON: AtomicBool = AtomicBool::new(false);
static ENDED: AtomicBool = AtomicBool::new(false);
/// Held while a line is printed.
static PRINTING: Mutex<()> = Mutex::new(());
/// How a last line begins, and what one of several streams or groups has in it.
const RESULT: &str = "{\"event\":\"result\"";
const OF_ONE: [&str; 2] = ["\"stream\":", "\"in\":"];
/// Many lines are printed in pieces of about so many bytes: what a pipe holds (pipe(7)).
const BLOCK_BYTES: usize = 64 << 10;
/// Who ends in a hurry waits so long for a line that is being printed.
const HURRY: Duration = Duration::from_millis(300);

/// Options of what is shown.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print one JSON object per line on standard output
    #[arg(long, help_heading = None)]
    pub json: bool,
    /// Print only errors
    #[arg(long, short, hide_short_help = true)]
    quiet: bool,
    /// Print a line for each file, or each event; -vv prints events of transfers, too
    #[arg(long, short, action = clap::ArgAction::Count, hide_short_help = true)]
    verbose: u8,
}

/// Where everything that is shown goes through.
#[derive(Debug)]
pub struct Output {
    args: OutputArgs,
    /// How many `-v` there are.
    verbose: AtomicU8,
    /// From how many on events are printed.
    events_from: u8,
    bar: ProgressBar,
    /// Beneath the bar; none for one of several streams.
    rows: Option<Rows>,
    /// Which of several it is that speaks.
    stream: Option<String>,
    /// It is a group of a node of several.
    is_group: bool,
    /// Who is told each event, too.
    listener: Option<Listener>,
    /// Lines of standard output that wait for more of their kind.
    held: Mutex<String>,
}

/// Is given lines as `--json` prints them.
#[derive(Clone)]
struct Listener(Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl Output {
    /// Shows what these options say.
    #[must_use]
    pub fn new(args: OutputArgs) -> Self {
        JSON.fetch_or(args.json, Ordering::Relaxed);
        let rows = Rows::new(target(args));
        let bar = rows.bars.add(ProgressBar::no_length());
        Self {
            args,
            verbose: AtomicU8::new(args.verbose),
            events_from: 1,
            bar,
            rows: Some(rows),
            stream: None,
            is_group: false,
            listener: None,
            held: Mutex::default(),
        }
    }

    /// Tells each event to `listener`, too, as a line of `--json`.
    #[must_use]
    pub fn heard_by(self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Listener(Arc::new(listener))), ..self }
    }

    /// With `-v` it prints a line for each file, and events only with `-vv`.
    #[must_use]
    pub fn per_file(self) -> Self {
        Self { events_from: 2, ..self }
    }

    /// Where several streams show how far they are, one beneath the other.
    pub fn bars(args: OutputArgs) -> MultiProgress {
        MultiProgress::with_draw_target(target(args))
    }

    /// The same for one of several, with a bar of its own and its name in each line.
    pub fn of_stream(args: OutputArgs, stream: &str, bars: &MultiProgress) -> Self {
        let bar = bars.add(ProgressBar::no_length()).with_prefix(format!("{stream} "));
        let rows = None;
        Self { bar, rows, stream: Some(stream.to_owned()), ..Self::new(args).per_file() }
    }

    /// The same for a group of a node that has several.
    pub fn of_group(args: OutputArgs, name: &str) -> Self {
        Self { stream: Some(name.to_owned()), is_group: true, ..Self::new(args) }
    }

    /// Prints events from now on, or no more.
    pub fn set_verbose(&self, args: OutputArgs) {
        self.verbose.store(args.verbose, Ordering::Relaxed);
    }

    /// JSON is wanted.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.args.json
    }

    /// Nothing but errors is wanted.
    pub fn is_quiet(&self) -> bool {
        self.args.quiet
    }

    /// Prints `line` with `--json`, and shows the event with `-v`.
    pub fn event<L: Serialize>(&self, line: &L) {
        if let Some(Listener(tell)) = &self.listener {
            tell(&to_text(line));
        }
        if self.args.json {
            self.flush();
            print_line(&self.line_text(line));
        }
        if self.shows_events() {
            self.bar.suspend(|| say(&Printable(&self.line_text(line))));
        }
    }

    /// Many events at once, printed with few writes.
    pub fn events<L: Serialize>(&self, lines: impl IntoIterator<Item = L>) {
        lines.into_iter().for_each(|line| self.file(&line, None));
        self.flush();
    }

    fn shows_events(&self) -> bool {
        self.verbose.load(Ordering::Relaxed) >= self.events_from && !self.args.json
    }

    /// Somebody reads events, as JSON, with `-v` or on a page.
    pub fn tells_events(&self) -> bool {
        self.args.json || self.shows_events() || self.listener.is_some()
    }

    /// Somebody reads how it ended: as JSON, or on a page.
    pub fn tells_result(&self) -> bool {
        self.args.json || self.listener.is_some()
    }

    /// A line for people that only `-v` prints.
    pub fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose.load(Ordering::Relaxed) > 0 && !self.args.json && !self.shows_events() {
            self.text(&text());
        }
    }

    /// Prints `line` with `--json`.
    pub fn json<L: Serialize>(&self, line: &L) {
        if self.args.json {
            self.flush();
            print_line(&to_text(line));
        }
    }

    /// As [`Self::event`], about a group of a node that has several.
    pub fn event_of<L: Serialize>(&self, group: &str, line: &L) {
        if self.args.json {
            self.flush();
            print_line(&to_text(&Of::group(line, group)));
        }
    }

    /// A line as it is printed: with the stream's name, if it is one of several.
    #[must_use]
    pub fn line_text<L: Serialize>(&self, line: &L) -> String {
        match &self.stream {
            None => to_text(line),
            Some(group) if self.is_group => to_text(&Of::group(line, group)),
            Some(stream) => to_text(&Of::stream(line, stream)),
        }
    }

    /// A line for people.
    pub fn text(&self, text: &str) {
        if !self.args.quiet {
            let stream = self.stream.as_ref().map_or_else(String::new, |name| format!("{name}: "));
            self.bar.suspend(|| say(&format_args!("{stream}{}", Printable(text))));
        }
    }

    /// A line of data for people who do not ask for JSON.
    pub fn data(&self, text: &str) {
        if !self.args.json {
            self.flush();
            self.bar.suspend(|| print_line(text));
        }
    }

    /// What there is to say of one of many files: `line` with `--json`, else `text`. It is printed
    /// together with those that follow: at the next [`Self::flush`], or before any other line.
    pub fn file<L: Serialize>(&self, line: &L, text: Option<&str>) {
        if self.listener.is_some() || self.shows_events() {
            text.into_iter().for_each(|text| self.data(text));
            self.event(line);
        } else if self.args.json {
            self.hold(&self.line_text(line));
        } else {
            text.into_iter().for_each(|text| self.hold(text));
        }
    }

    fn hold(&self, text: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.is_empty() {
            held.push('\n');
        }
        held.push_str(text);
        let is_full = held.len() > BLOCK_BYTES;
        drop(held);
        if is_full {
            self.flush();
        }
    }

    /// Prints the files that wait.
    pub fn flush(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if !held.is_empty() {
            self.bar.suspend(|| print_line(&held));
        }
    }

    /// Something that does not end the command. Of a text that is too long for a line, it prints the beginning.
    pub fn warn(&self, code: &str, message: impl Into<String>) {
        let message = message.into();
        let message = warning_text(&message);
        self.text(&format!("warning: {message}"));
        self.event(&Notice::Warning { code, message: &message });
    }

    /// Why the command fails, shown even with `--quiet`.
    pub fn failure(&self, failure: &Failure) {
        let named = self.stream.as_ref().map(|name| match self.is_group {
            true => failure.of_group(name),
            false => failure.of_stream(name),
        });
        let failure = named.as_ref().unwrap_or(failure);
        self.bar.suspend(|| say(failure));
        self.event(&Notice::Error { code: failure.code, message: &failure.to_string() });
    }

    /// Moves the bar.
    pub fn progress(&self, done: u64, total: u64, message: String) {
        if self.bar.length().is_none()
            && let Ok(style) =
                ProgressStyle::with_template("{prefix}{bar:12} {percent:>3}% {wide_msg}")
        {
            self.bar.set_style(style);
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_message(Printable(&message).to_string());
    }

    /// A bar whose end is not known yet.
    pub fn spin(&self, message: String) {
        if self.bar.length().is_none()
            && let Ok(style) = ProgressStyle::with_template("{prefix}{spinner} {wide_msg}")
        {
            self.bar.set_style(style);
        }
        self.bar.set_message(Printable(&message).to_string());
        self.bar.tick();
    }

    /// How many lines there is room for beneath the bar.
    pub fn row_room(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::room)
    }

    /// Shows these lines beneath the bar, instead of those before.
    pub fn show_rows(&self, lines: &[String]) {
        self.rows.iter().for_each(|rows| rows.show(lines));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.show_rows(&[]);
        self.bar.finish_and_clear();
    }
}

fn target(args: OutputArgs) -> ProgressDrawTarget {
    // indicatif itself shows nothing where standard error is no terminal.
    if args.quiet || args.json { ProgressDrawTarget::hidden() } else { error_terminal::target() }
}

/// Writes a line for people to standard error. A reader that has gone away, or a full disk, is no
/// reason to end: `eprintln!` would panic there, and end a transfer with it.
pub fn say(line: &dyn fmt::Display) {
    // Standard error has no buffer: one line is one write, and no other line gets into it.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A reader that has gone away is no reason to fail; it is no reason to send less either. Whose work is
/// what it prints asks [`printed`].
pub fn print_line(text: &str) {
    let _printing = PRINTING.lock().unwrap_or_else(PoisonError::into_inner);
    write_line(text);
}

fn write_line(text: &str) {
    let is_last = text.starts_with(RESULT) && !OF_ONE.iter().any(|of| text.contains(of));
    ENDED.fetch_or(is_last, Ordering::Relaxed);
    print_with(|| writeln!(io::stdout().lock(), "{text}"));
}

/// Has something written to standard output, and notes whether it was.
pub(crate) fn print_with(write: impl FnOnce() -> io::Result<()>) {
    // Without this, what is still in the buffer would be lost without a word.
    let written = write().and_then(|()| io::stdout().flush());
    if let Err(number) =
        written.map_err(|error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
    {
        // The first one is the cause.
        let _ = REFUSED.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether the last line of JSON has been printed: the command is about to end.
pub(crate) fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Ends the program at once, because its user wants it, with the last line of JSON if it is missing.
pub(crate) fn end_interrupted() -> ! {
    let code = Exit::Interrupted as i32;
    let until = Instant::now() + HURRY;
    while JSON.load(Ordering::Relaxed) && Instant::now() < until {
        if let Ok(_printing) = PRINTING.try_lock() {
            if !has_ended() && terminal::takes_some(io::stdout()) {
                write_line(&to_text(&Notice::result(Exit::Interrupted as u8)));
            }
            // No other line may follow.
            exit(code);
        }
        std::thread::sleep(HURRY / 100);
    }
    exit(code)
}

/// What has become of what was printed.
pub enum Printed {
    /// Standard output takes it.
    Taken,
    /// Its reader has gone away.
    Unread,
    /// It cannot be written.
    Refused(Failure),
}

/// Whether standard output takes what is printed, and somebody is there to read it.
pub fn printed() -> Printed {
    let refused = REFUSED.load(Ordering::Relaxed);
    let error = io::Error::from_raw_os_error(refused);
    match refused {
        0 if !terminal::is_read(io::stdout()) => Printed::Unread,
        0 => Printed::Taken,
        _ if error.kind() == ErrorKind::BrokenPipe => Printed::Unread,
        _ => Printed::Refused(Failure::new(
            Exit::Resource,
            "output.unwritable",
            format!(
                "output (standard output): cannot be written ({error}). Make room, or write elsewhere"
            ),
        )),
    }
}

/// How a command ends whose work was done, or not, and whose output may be lost.
pub fn end(exit: Exit) -> Exit {
    match printed() {
        Printed::Refused(failure) if exit == Exit::Done => {
            say(&failure);
            failure.exit
        }
        _ => exit,
    }
}
