//! `fanfare watch`: a live page in a terminal.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up, print_line};
use fanfare_monitor::{
    client::Client,
    terminal::{Screen, lines},
};
use serde_json::{Value, json};

/// Lines are this wide where there is no terminal.
const WIDTH: usize = 120;
/// Keys are looked for so often, and the screen is drawn.
const DRAWN: Duration = Duration::from_millis(250);

const HELP: Help = Help::new(&[
    ("fanfare watch", "the transfer of 'fanfare send --watch' on this machine"),
    ("fanfare watch --once", "what is the case now, as text"),
])
.exits(&[
    (Exit::Done, "it was shown, to its end or until q"),
    (Exit::Nobody, "nothing is shown at this address, or it fell silent"),
])
.files(&[("--token FILE", "the token of a page that asks for one")]);

/// Show a live page in a terminal
///
/// 'fanfare send --watch', 'fanfare recv --watch' and 'fanfare node --monitor' open a page for
/// browsers. This command shows the same as text. Trouble comes first. q ends it.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct WatchCommandArgs {
    /// Address of the page
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7979")]
    at: String,
    /// File with the token, where the page needs one
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Show it once, and exit
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &WatchCommandArgs) -> Exit {
    let output = Output::new(args.output);
    match watch(args, &output) {
        Ok(()) => {
            output.event(&json!({"event": "result", "ok": true, "exit": 0}));
            Exit::Done
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn watch(args: &WatchCommandArgs, output: &Output) -> Result<(), Failure> {
    let silent = |error: std::io::Error| {
        let text = format!(
            "at ({}): shows nothing ({error}). Start 'fanfare send --watch' there, or give another \
             address",
            args.at
        );
        Failure::new(Exit::Nobody, "watch.silent", text)
    };
    let token =
        args.token.as_ref().map(fanfare_command::text_file::read).transpose().map_err(|error| {
            Failure::usage(
                "watch.invalid",
                format!("token: cannot be read ({error}). Check its name"),
            )
        })?;
    let mut client =
        Client::connect(address(&args.at)?, token.as_deref().map(str::trim)).map_err(silent)?;
    let first = client.next_document().map_err(silent)?.cloned().unwrap_or_default();
    if args.once {
        show_once(&first, output);
        return Ok(());
    }
    match (args.output.json, Screen::take()) {
        (false, Some(screen)) => on_screen(client, first, screen).map_err(silent),
        _ => {
            show_once(&first, output);
            while let Some(document) = client.next_document().map_err(silent)? {
                output.event(&event(document));
            }
            if !output.is_json() {
                show_once(client.document(), output);
            }
            Ok(())
        }
    }
}

fn show_once(document: &Value, output: &Output) {
    match output.is_json() {
        true => output.event(&event(document)),
        false => lines(document, WIDTH).iter().for_each(|line| print_line(line)),
    }
}

fn event(document: &Value) -> Value {
    json!({"event": "state", "state": document})
}

/// Another thread reads; this one draws and looks for keys.
fn on_screen(mut client: Client, first: Value, mut screen: Screen) -> std::io::Result<()> {
    let shown = Arc::new(Mutex::new(first));
    let kept = Arc::clone(&shown);
    let reader = thread::spawn(move || -> std::io::Result<()> {
        while let Some(document) = client.next_document()? {
            let next = document.clone();
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        Ok(())
    });
    loop {
        let ended = reader.is_finished();
        let document = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        screen.show(&lines(&document, screen.width()))?;
        let quit = screen.wait(DRAWN)?;
        if quit || ended {
            drop(screen);
            // What was seen last stays in the terminal.
            lines(&document, WIDTH).iter().for_each(|line| print_line(line));
            return if ended { reader.join().unwrap_or(Ok(())) } else { Ok(()) };
        }
    }
}

/// An address, with or without what a browser writes around it.
fn address(text: &str) -> Result<SocketAddr, Failure> {
    let bare = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let mut found = bare.to_socket_addrs().into_iter().flatten();
    found.next().ok_or_else(|| {
        let text = format!("at ({text}): not an address with a port. Use 127.0.0.1:7979");
        Failure::usage("watch.invalid", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_may_be_what_a_browser_shows() {
        let expected = SocketAddr::from(([127, 0, 0, 1], 7979));
        assert_eq!(address("127.0.0.1:7979").unwrap(), expected);
        assert_eq!(address("http://127.0.0.1:7979/").unwrap(), expected);
        assert!(address("127.0.0.1").is_err());
    }
}
