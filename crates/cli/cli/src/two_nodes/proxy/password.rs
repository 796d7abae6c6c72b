//! `fanfare proxy password`: a line for `--auth-file`.

use std::io::Read as _;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Notice, Output, OutputArgs, give_up};
use fanfare_link::proxy::users::Users;

const HELP: Help = Help::new(&[
    ("fanfare proxy password anna < secret >> users", "one more user"),
    ("fanfare proxy password anna --json < secret", "for programs"),
])
.exits(&[(Exit::Done, "done"), (Exit::Resource, "no memory or randomness")]);

/// Print a line for --auth-file; the password is read from standard input
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct PasswordArgs {
    /// The user's name
    user: String,
    #[command(flatten)]
    output: OutputArgs,
}

/// Longest password that SOCKS can carry, bytes (RFC 1929).
const LONGEST: usize = 255;

pub(super) fn run(args: &PasswordArgs) -> Exit {
    let output = Output::new(args.output);
    match line(&args.user) {
        Ok(line) => {
            output.data(&line);
            output.event(&serde_json::json!({"event": "user", "line": line}));
            output.event(&Notice::result(0));
            Exit::Done
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn line(user: &str) -> Result<String, Failure> {
    let wrong = |text: &str| Failure::usage("password.invalid", text);
    let named = !user.is_empty() && user.len() <= LONGEST;
    if !named || user.starts_with('#') || user.contains(char::is_whitespace) {
        return Err(wrong("user: a name has 1 to 255 characters, no spaces, and no # in front"));
    }
    let mut text = String::new();
    let read = std::io::stdin().take(4096).read_to_string(&mut text);
    read.map_err(|_| wrong("password: standard input is not text"))?;
    let password = text.trim_end_matches(['\n', '\r']);
    if password.is_empty() || password.len() > LONGEST {
        return Err(wrong("password: it has 1 to 255 bytes; give it on standard input"));
    }
    let salt =
        fanfare_crypto::system_salt().and_then(|salt| Users::line(user, password.as_bytes(), salt));
    salt.ok_or_else(|| {
        let text = "password: this system has no random bytes or memory to give";
        Failure::new(Exit::Resource, "key.random", text)
    })
}
