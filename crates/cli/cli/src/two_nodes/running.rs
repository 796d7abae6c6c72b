//! A command that runs until a signal comes: its runtime, and what ends it.

use std::future::Future;

use fanfare_command::{Exit, Failure, Notice, Output, OutputArgs, give_up};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Threads for look-ups of names and for passwords.
const BLOCKING_MAX: usize = 16;

/// Runs this in a runtime of one thread.
pub(crate) fn run<F: Future<Output = Result<Exit, Failure>>>(
    args: OutputArgs,
    work: impl FnOnce(Output) -> F,
) -> Exit {
    let output = Output::new(args);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_MAX)
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(work(Output::new(args))),
        Err(error) => {
            let text = format!("runtime ({error}): this system gives no thread or descriptor");
            Err(Failure::new(Exit::Resource, "runtime.failed", text))
        }
    };
    match ended {
        Ok(exit) => {
            output.event(&Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}

/// The signals that a service is given.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// What one of them asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    End,
    Reload,
}

impl Signals {
    pub(crate) fn install() -> Result<Self, Failure> {
        let of = |kind| {
            signal(kind).map_err(|error| {
                let text = format!("signal ({error}): cannot be taken over");
                Failure::new(Exit::Resource, "signal.failed", text)
            })
        };
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::End,
            _ = self.terminate.recv() => Asked::End,
            _ = self.hangup.recv() => Asked::Reload,
        }
    }
}
