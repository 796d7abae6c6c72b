//! The socket that tells how a daemon is: one line of JSON for each connection.

use std::{
    io::{self, Read as _},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Notice, Output, OutputArgs, give_up};
use fanfare_monitor::{Access, Board, Server};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::UnixListener};

/// Longest answer, bytes.
const LONGEST: u64 = 16 << 20;
/// Metrics are renewed so often.
const RENEWED: Duration = Duration::from_secs(1);
/// A daemon answers within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a daemon tells how it is.
#[derive(Debug, Args)]
pub(crate) struct SocketArgs {
    /// Local socket for 'status'
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address of this machine
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The daemon's local socket, as in its --socket
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Answers with what `tell` says, until the program ends.
pub(crate) fn serve(
    args: &SocketArgs,
    tell: impl Fn() -> Value + Send + Sync + 'static,
) -> Result<(), Failure> {
    let tell = Arc::new(tell);
    if let Some(address) = args.metrics {
        serve_metrics(address, Arc::clone(&tell))?;
    }
    let Some(path) = args.socket.as_deref() else { return Ok(()) };
    let failed = |error: io::Error| {
        let text = format!(
            "socket ({}): cannot be had ({error}). Check its directory, or name another",
            path.display()
        );
        Failure::new(Exit::Resource, "socket.failed", text)
    };
    // One that nobody listens at is left from a process that was killed.
    if path.exists() && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((mut client, _)) => {
                    let line = format!("{}\n", tell());
                    // Who asks may have gone.
                    let _ = client.write_all(line.as_bytes()).await;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    Ok(())
}

/// The same as metrics.
fn serve_metrics(
    address: SocketAddr,
    tell: Arc<impl Fn() -> Value + Send + Sync + 'static>,
) -> Result<(), Failure> {
    let document =
        move || json!({"version": env!("CARGO_PKG_VERSION"), "kind": "proxy", "proxy": tell()});
    let board = Arc::new(Board::new(document()));
    let server = Server::start(address, Access::local(), Arc::clone(&board)).map_err(|error| {
        let text = format!("metrics: {error}");
        Failure::new(Exit::Resource, "metrics.refused", text)
    })?;
    tokio::spawn(async move {
        // It serves as long as this runs.
        let _server = server;
        loop {
            tokio::time::sleep(RENEWED).await;
            board.publish(document());
        }
    });
    Ok(())
}

/// Asks a daemon how it is, and prints what it says.
pub(crate) fn run(args: &StatusArgs, describe: impl Fn(&Value) -> Vec<String>) -> Exit {
    let output = Output::new(args.output);
    match ask(&args.socket) {
        Ok(answer) => {
            output.event(&answer);
            for line in describe(&answer) {
                output.data(&line);
            }
            output.event(&Notice::result(0));
            Exit::Done
        }
        Err(error) => {
            let text = format!(
                "socket ({}): no daemon answers ({error}). Start one with --socket",
                args.socket.display()
            );
            give_up(&output, &Failure::new(Exit::Failed, "socket.silent", text))
        }
    }
}

fn ask(path: &Path) -> io::Result<Value> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.take(LONGEST).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}
