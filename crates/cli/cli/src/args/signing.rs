//! Whether what is sent is signed, and by whom.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use fanfare_command::Failure;
use fanfare_command::keys::identity;
use fanfare_files::SendOptions;
use fanfare_node::seal::Identity;

/// Options of a sender that signs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct SigningArgs {
    /// Sign what is sent, and ask receivers to sign their receipts
    ///
    /// Receivers take it with 'recv --from KEY', where KEY is what 'fanfare id' prints here.
    #[arg(long, hide_short_help = true)]
    sign: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Which key pair signs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct IdentityArgs {
    /// File of this machine's key pair [default: ~/.config/fanfare/identity]
    ///
    /// One that is not there is made.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    identity: Option<PathBuf>,
}

/// What is to be signed with, once it is needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signing {
    wanted: bool,
    path: Option<PathBuf>,
}

impl SigningArgs {
    /// A list of expected keys wants signatures, too.
    pub(crate) fn signing(&self, has_keys: bool) -> Signing {
        Signing { wanted: self.sign || has_keys, path: self.identity.identity.clone() }
    }
}

impl IdentityArgs {
    pub(crate) fn signing(&self) -> Signing {
        Signing { wanted: self.identity.is_some(), path: self.identity.clone() }
    }
}

impl Signing {
    /// For a sender: it signs if that is wanted.
    pub(crate) fn apply(&self, options: &mut SendOptions) -> Result<(), Failure> {
        if self.wanted {
            options.identity = Some(identity::own(self.path.as_deref())?);
        }
        Ok(())
    }

    /// For a receiver: it signs where a sender asks for it. Where this user can have no key pair, and
    /// none was named, it does not.
    pub(crate) fn of_receiver(&self) -> Result<Option<Arc<Identity>>, Failure> {
        match identity::own(self.path.as_deref()) {
            Ok(identity) => Ok(Some(identity)),
            Err(failure) if self.wanted || failure.code == "key.exposed" => Err(failure),
            Err(_) => Ok(None),
        }
    }
}
