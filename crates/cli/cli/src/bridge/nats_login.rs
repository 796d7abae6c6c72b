//! Options that say how to come into NATS. Secrets come from files or the environment: a command's
//! arguments are for everybody on the machine to see.

use std::{io::ErrorKind, path::PathBuf};

use clap::Args;
use fanfare_node::nats::{Identity, Login, Secret, Servers, Tls};

use fanfare_command::{Exit, Failure, units};

/// The password of `--user`.
const PASSWORD: &str = "FANFARE_NATS_PASSWORD";
/// A token.
const TOKEN: &str = "FANFARE_NATS_TOKEN";
/// Longer files are no secrets of this kind: credentials have under 4 KiB.
const SECRET_MAX: u64 = 64 << 10;

#[derive(Debug, Args)]
#[command(next_help_heading = "NATS")]
pub(super) struct LoginArgs {
    /// Servers, with commas: nats://HOST:4222, tls://HOST
    #[arg(long, value_name = "ADDRESSES", help_heading = None)]
    nats: String,
    /// User name; the password is in $FANFARE_NATS_PASSWORD or --password-file
    #[arg(long, value_name = "NAME", group = "identity", hide_short_help = true)]
    user: Option<String>,
    /// File with the password
    #[arg(long, value_name = "FILE", requires = "user", hide_short_help = true)]
    password_file: Option<PathBuf>,
    /// File with a token; it may also be in $FANFARE_NATS_TOKEN
    #[arg(long, value_name = "FILE", group = "identity", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Credentials file, as nsc makes it
    #[arg(long, value_name = "FILE", group = "identity", help_heading = None)]
    creds: Option<PathBuf>,
    /// File with the seed of an NKey
    #[arg(long, value_name = "FILE", group = "identity", hide_short_help = true)]
    nkey: Option<PathBuf>,
    /// Connect by TLS only
    #[arg(long, hide_short_help = true)]
    tls: bool,
    /// Also trust the certificate authorities in this file (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    tls_ca: Option<PathBuf>,
    /// Certificate of this client (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", hide_short_help = true)]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    tls_key: Option<PathBuf>,
    /// Timeout of one attempt to connect
    #[arg(long, default_value = "5s", value_name = "TIME", hide_short_help = true)]
    connect_timeout: String,
    /// If no server answers at the start, keep trying, and queue messages meanwhile
    #[arg(long, hide_short_help = true)]
    keep_trying: bool,
}

impl LoginArgs {
    /// The options, understood.
    pub(super) fn login(&self) -> Result<Login, Failure> {
        let servers = Servers::parse(&self.nats).map_err(|shown| {
            let text = format!("nats ({shown}): not an address. Give nats://HOST:PORT");
            Failure::usage("nats.invalid", text)
        })?;
        for path in [&self.tls_ca, &self.tls_cert, &self.tls_key].into_iter().flatten() {
            secret("tls", path)?;
        }
        let own = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = Tls { required: self.tls, authorities: self.tls_ca.clone(), own };
        Ok(Login {
            servers,
            identity: self.identity()?,
            tls,
            timeout: units::time("connect timeout", &self.connect_timeout)?,
            keep_trying: self.keep_trying,
        })
    }

    fn identity(&self) -> Result<Identity, Failure> {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        if let Some(user) = &self.user {
            let password = match &self.password_file {
                Some(path) => secret("password file", path)?,
                None => variable(PASSWORD).ok_or_else(|| {
                    let text = format!(
                        "user ({user}): has no password. Give --password-file, or set {PASSWORD}"
                    );
                    Failure::usage("nats.password", text)
                })?,
            };
            return Ok(Identity::User(user.clone(), Secret::new(line(&password))));
        }
        if let Some(path) = &self.token_file {
            return Ok(Identity::Token(Secret::new(line(&secret("token file", path)?))));
        }
        if let Some(path) = &self.creds {
            return Ok(Identity::Creds(Secret::new(secret("creds", path)?)));
        }
        if let Some(path) = &self.nkey {
            return Ok(Identity::NKey(Secret::new(line(&secret("nkey", path)?))));
        }
        Ok(variable(TOKEN).map_or(Identity::None, |token| Identity::Token(Secret::new(token))))
    }
}

/// Without the end of the line that editors add.
fn line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).to_owned()
}

fn secret(what: &str, path: &PathBuf) -> Result<String, Failure> {
    let shown = path.display();
    let length = std::fs::metadata(path).map(|metadata| metadata.len()).unwrap_or_default();
    if length > SECRET_MAX {
        let text = format!("{what} ({shown}): has {length} bytes, and is none. Give another file");
        return Err(Failure::usage("nats.file", text));
    }
    fanfare_command::text_file::read(path).map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::Usage,
        };
        let text = format!("{what} ({shown}): cannot be read ({error}). Give another file");
        Failure::new(exit, "nats.file", text)
    })
}
