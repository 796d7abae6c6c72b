//! Network namespaces of the laboratory: created, entered, removed, and found again after a run has
//! died.
//!
//! Nothing changes the machine's own network. A namespace is called `ffl<process id>x<lab><host>`,
//! so that leftovers of a dead run can be told from namespaces in use.

use crate::programs::{
    error::{LabError, Refusal},
    system::tool,
};
use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use std::{
    fs,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Once,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

/// All our namespaces begin with this.
const PREFIX: &str = "ffl";
static NEXT: AtomicU32 = AtomicU32::new(0);
/// This process is about to end: it makes no more of them.
static ENDING: AtomicBool = AtomicBool::new(false);
/// What dead runs have left has been cleared.
static CLEARED: Once = Once::new();

/// One network namespace; gone, with all that runs in it, when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// What the names of one more lab begin with. What dead runs have left is cleared before the
    /// first.
    #[must_use]
    pub fn stem() -> String {
        // Where that fails, making the first one says why.
        CLEARED.call_once(|| drop(clear_leftovers()));
        format!("{PREFIX}{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
    }
    /// Makes the one that is `role` in the lab of this stem.
    ///
    /// # Errors
    /// When `ip` is missing or refuses.
    pub fn add(stem: &str, role: &str) -> Result<Self, LabError> {
        let name = format!("{stem}{role}");
        if ENDING.load(Ordering::SeqCst) {
            let text = format!("namespace ({name}): is not made: this run is being ended. Wait");
            return Err(LabError::new(Refusal::System, "lab.interrupted", text));
        }
        tool::ip(&["netns", "add", &name], "")?;
        Ok(Self { name })
    }
    /// Its name, for `ip netns exec`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// A batch of `ip` commands inside.
    ///
    /// # Errors
    /// As [`Namespace::add`].
    pub fn batch(&self, lines: &str) -> Result<(), LabError> {
        tool::ip(&["-n", &self.name, "-batch", "-"], lines).map(drop)
    }
    /// A command that will run `program` inside.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        command(&self.name, program)
    }
    /// Runs something inside, on a thread of its own: sockets and devices that it opens stay there.
    ///
    /// # Errors
    /// When it cannot be entered.
    pub fn enter<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        enter(&self.name, inside)
    }
}

/// As [`Namespace::enter`], by name.
pub fn enter<T: Send>(name: &str, inside: impl FnOnce() -> T + Send) -> Result<T, LabError> {
    let failed = |error: &std::io::Error| LabError::system(format!("namespace ({name})"), error);
    let file = fs::File::open(path(name)).map_err(|error| failed(&error))?;
    thread::scope(|scope| {
        let entered = scope.spawn(|| {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| failed(&error.into()))?;
            Ok(inside())
        });
        entered.join().unwrap_or_else(|_| {
            let text = format!("namespace ({name}): a thread in it panicked. Report this");
            Err(LabError::new(Refusal::System, "lab.panic", text))
        })
    })
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn path(name: &str) -> PathBuf {
    Path::new("/var/run/netns").join(name)
}

/// A command that runs `program` in the namespace `name`.
pub fn command(name: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", name]).arg(program);
    command
}

/// Removes the namespaces of runs that are no longer alive; gives their names.
///
/// # Errors
/// When `ip` is missing or refuses.
pub fn clear_leftovers() -> Result<Vec<String>, LabError> {
    clear(|pid| !is_alive(pid))
}

/// Removes all of the laboratory's, whoever has made them; gives their names.
///
/// # Errors
/// As [`clear_leftovers`].
pub fn clear_all() -> Result<Vec<String>, LabError> {
    clear(|_| true)
}

/// Removes all that this process has made, and makes no more: it ends without dropping them.
pub fn clear_own() {
    ENDING.store(true, Ordering::SeqCst);
    // Nobody is left to be told of a failure; the next run clears what stays.
    let _ = clear(|pid| pid == std::process::id());
}

fn clear(is_meant: impl Fn(u32) -> bool) -> Result<Vec<String>, LabError> {
    let listed = tool::ip(&["netns", "list"], "")?;
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let meant: Vec<String> =
        names.filter(|name| owner(name).is_some_and(&is_meant)).map(str::to_owned).collect();
    // One after the other they take seconds.
    thread::scope(|scope| meant.iter().for_each(|name| drop(scope.spawn(|| remove(name)))));
    Ok(meant)
}

/// Whether there is a process of this number.
pub fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The process id in a name of ours; `None` for a name that is not.
pub fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('x')?.0.parse().ok()
}

/// Ends what still runs inside and removes it; absent is as good.
fn remove(name: &str) {
    for pid in tool::ip(&["netns", "pids", name], "").unwrap_or_default().split_whitespace() {
        if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = tool::ip(&["netns", "del", name], "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_ours_tells_its_owner_and_another_is_left_alone() {
        assert_eq!(owner("ffl4711x0h2"), Some(4711));
        assert_eq!(owner("ffi4711x0h2"), None);
        assert_eq!(owner("fflx0"), None);
        assert_eq!(owner("ffl12"), None);
        let (one, other) = (Namespace::stem(), Namespace::stem());
        assert_eq!(owner(&format!("{one}h3")), Some(std::process::id()));
        assert_ne!(one, other);
    }
}
