//! The program `fanfare` that transfers are measured with.

use std::path::PathBuf;

/// Who starts `fanfare-lab` may say which.
const VARIABLE: &str = "FANFARE_BIN";

/// What `FANFARE_BIN` names (`fanfare lab` sets it to itself), else the one beside this program, else
/// the one in the search path.
pub(crate) fn fanfare() -> PathBuf {
    let given = std::env::var_os(VARIABLE).map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("fanfare"));
    let beside = || beside().filter(|path| path.is_file());
    given.or_else(beside).unwrap_or_else(|| PathBuf::from("fanfare"))
}
