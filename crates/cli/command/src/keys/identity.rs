//! This node's own key pair: where it is, and made when it is first needed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::json::{IdLine, Line};
use crate::{Exit, Failure, Help, Output, OutputArgs};
use clap::Args;
use fanfare_node::seal::Identity;

use super::file;

const HELP: Help = Help::new(&[
    ("fanfare id", "this machine's public key"),
    ("fanfare id --json", "for programs"),
])
.exits(super::exits::EXITS)
.files(&[("~/.config/fanfare/identity", "the key pair, without --identity")]);

/// Show this machine's public key, which others trust
///
/// The key pair is made when it is first needed: ~/.config/fanfare/identity, unless --identity names
/// another file.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub struct IdArgs {
    /// File of the key pair
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows it.
pub fn show(args: &IdArgs) -> Exit {
    let output = Output::new(args.output);
    match own(args.identity.as_deref()) {
        Ok(identity) => {
            let key = identity.public().to_string();
            output.data(&key);
            output.event(&Line::Id(IdLine { key }));
            output.event(&Line::early_result(Exit::Done as u8));
            Exit::Done
        }
        Err(failure) => crate::give_up(&output, &failure),
    }
}

/// Where keys and lists of this user are.
pub fn directory() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let config = of("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| of("HOME").map(|home| PathBuf::from(home).join(".config")));
    config.map(|config| config.join("fanfare"))
}

/// The key pair in this file, or in the usual one. It is made where there is none.
pub fn own(path: Option<&Path>) -> Result<Arc<Identity>, Failure> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => directory().map(|directory| directory.join("identity")).ok_or_else(|| {
            let text =
                "identity: neither XDG_CONFIG_HOME nor HOME says where it is. Give --identity";
            Failure::new(Exit::Permission, "identity.nowhere", text)
        })?,
    };
    if !path.exists() {
        let identity = Identity::generate().ok_or_else(|| {
            let text = "identity: this system has no random bytes to give";
            Failure::new(Exit::Resource, "key.random", text)
        })?;
        if let Some(parent) = path.parent() {
            // What stands against it is told when the file is written.
            let _ = std::fs::create_dir_all(parent);
        }
        match file::write_private("identity", &path, &identity.to_text()) {
            // Another process was first.
            Err(failure) if failure.code != "key.exists" => return Err(failure),
            _ => {}
        }
    }
    let text = file::read_private("identity", &path)?;
    let identity = Identity::parse(&text).map_err(|error| {
        let text = format!(
            "identity ({}): {error}. Name another file; one that is not there is made",
            path.display()
        );
        Failure::new(Exit::Permission, "identity.invalid", text)
    })?;
    Ok(Arc::new(identity))
}
