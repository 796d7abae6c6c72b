//! The page of `--watch`: opened before the work begins, closed after its end.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use fanfare_command::{Exit, Failure, Output, give_up};
use fanfare_monitor::{Access, ListenError, TransferPage, transfer::Kind};

/// Where a page is wanted, and for whom.
#[derive(Debug, Clone)]
pub(crate) struct WatchPlan {
    pub(crate) address: SocketAddr,
    /// Somebody wants this address and no other.
    pub(crate) is_given: bool,
    /// A file with the token.
    pub(crate) token: Option<PathBuf>,
    /// The name by which a proxy is reached.
    pub(crate) proxy: Option<String>,
}

/// Runs a transfer, with a page if one is wanted.
pub(crate) fn watched(
    plan: Option<WatchPlan>,
    kind: Kind,
    output: Output,
    run: impl FnOnce(&Output) -> Exit,
) -> Exit {
    let Some(plan) = plan else { return run(&output) };
    let opened = open_page(&plan, |address, access| TransferPage::start(kind, address, access));
    let page = match opened {
        Ok(page) => Arc::new(page),
        Err(failure) => return give_up(&output, &failure),
    };
    output.text(&format!("live page: {}", page.url()));
    let told = Arc::clone(&page);
    // The page ends when output and this have let it go.
    let output = output.heard_by(move |line| told.tell(line));
    run(&output)
}

/// Opens a page where it is wanted; at any free port where none was named and the usual one is taken.
pub(crate) fn open_page<P>(
    plan: &WatchPlan,
    mut start: impl FnMut(SocketAddr, Access) -> Result<P, ListenError>,
) -> Result<P, Failure> {
    let started = start(plan.address, access(plan)?);
    match started {
        Err(ListenError::Refused(address, _)) if !plan.is_given => {
            let any = SocketAddr::new(address.ip(), 0);
            start(any, access(plan)?).map_err(|error| refused(&error))
        }
        started => started.map_err(|error| refused(&error)),
    }
}

fn access(plan: &WatchPlan) -> Result<Access, Failure> {
    let Some(path) = &plan.token else { return Ok(Access::local()) };
    let token = fanfare_command::text_file::read(path).map_err(|error| {
        let path = path.display();
        let text = format!("watch-token ({path}): cannot be read ({error}). Check its name");
        Failure::usage("watch.invalid", text)
    })?;
    Ok(Access::by_token(token.trim().to_owned(), plan.proxy.clone()))
}

fn refused(error: &ListenError) -> Failure {
    match error {
        ListenError::Open(address, why) => {
            let text = format!(
                "watch ({address}): {why}. Use an address of this machine alone, or --watch-token \
                 and --watch-proxy"
            );
            Failure::usage("watch.open", text)
        }
        ListenError::Refused(..) => {
            Failure::new(Exit::Resource, "watch.refused", error.to_string())
        }
    }
}
