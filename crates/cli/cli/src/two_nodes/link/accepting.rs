//! Who may link to this node.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use fanfare_command::{Failure, Output};
use fanfare_link::Node;

use crate::two_nodes::peers;

/// Who may link to this node.
#[derive(Debug, Clone, Args)]
pub(crate) struct AcceptArgs {
    /// Address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:7001")]
    pub(crate) listen: SocketAddr,
    /// A node that may link to this one: NAME=KEY. May be given several times
    #[arg(long, value_name = "NAME=KEY")]
    pub(crate) accept: Vec<String>,
    /// File of such nodes, a name and a key a line; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    accept_file: Option<PathBuf>,
}

impl AcceptArgs {
    /// All of them, as they stand now.
    pub(crate) fn all(&self) -> Result<Vec<(fanfare_crypto::PublicKey, String)>, Failure> {
        let mut all = Vec::new();
        for text in &self.accept {
            all.push(peers::accepted(text)?);
        }
        if let Some(path) = &self.accept_file {
            all.extend(peers::accept_file(path)?);
        }
        if all.is_empty() {
            let text = "accept: nobody may link to this node. Give --accept NAME=KEY";
            return Err(Failure::usage("accept.missing", text));
        }
        Ok(all)
    }

    /// Reads the list again, and ends the links of those that are not on it any more.
    pub(crate) fn reload(&self, node: &Node, output: &Output) {
        match self.all() {
            Ok(all) => {
                node.peers().replace(all);
                node.cut_removed();
                output.text("the list of accepted nodes was read again");
            }
            Err(failure) => output.warn(failure.code, failure.text),
        }
    }
}
