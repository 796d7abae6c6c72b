//! Where programs speak to the node of this machine.

use std::{env, fs, io, path::PathBuf};

use clap::Args;

/// Socket of a node that the system or root starts.
const SYSTEM: &str = "/run/fanfare/node.sock";

/// The node's local socket.
#[derive(Debug, Clone, Args)]
pub(crate) struct SocketArgs {
    /// The node's local socket
    ///
    /// Default: /run/fanfare/node.sock. For a user who may not write there:
    /// $XDG_RUNTIME_DIR/fanfare/node.sock.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

impl SocketArgs {
    /// The path for a node that is to be started. Without one that is given, its directory is made.
    pub(crate) fn to_be_made(&self) -> PathBuf {
        self.choose(|path| {
            let directory = path.parent().unwrap_or(path);
            let made = fs::create_dir(directory);
            let is_there =
                made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
            made.is_ok() || (is_there && is_writable(directory))
        })
    }

    /// The path of a node that is running.
    pub(crate) fn there(&self) -> PathBuf {
        self.choose(|path| path.exists())
    }

    /// The one that is given, or the first that will do; the system's where none does.
    fn choose(&self, will_do: impl Fn(&std::path::Path) -> bool) -> PathBuf {
        if let Some(given) = &self.socket {
            return given.clone();
        }
        let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let own = own.map(|dir| dir.join("fanfare/node.sock"));
        let all = [Some(PathBuf::from(SYSTEM)), own];
        all.into_iter().flatten().find(|path| will_do(path)).unwrap_or_else(|| SYSTEM.into())
    }
}

/// True if this user may make a file there.
fn is_writable(directory: &std::path::Path) -> bool {
    let probe = directory.join(format!(".probe-{}", std::process::id()));
    let made = fs::File::create_new(&probe).is_ok();
    let _ = fs::remove_file(probe);
    made
}
