//! What a receiver says of a listing that it has followed, or refused.

use std::path::Path;

use fanfare_command::json::{Deleted, Deletion, Line};
use fanfare_files::{ReceiveEvent, receipt::Reason};
use fanfare_node::proto::ObjectKey;

use fanfare_command::{Output, Printable};

/// Shows what is gone, and in the end how much or why not. Other events are none of its business.
pub(crate) fn show(event: &ReceiveEvent, dir: &Path, output: &Output) {
    match event {
        ReceiveEvent::Deleted { key, name } => {
            let path = dir.join(&name.path).display().to_string();
            output.event(&deleted_line(*key, path, name.is_directory));
        }
        ReceiveEvent::Deletion { key, roots, extra, deleted, refused } => {
            let said = summary(roots, *extra, *deleted, refused.as_ref());
            said.iter().for_each(|line| output.text(line));
            output.event(&deletion_line(*key, roots, *extra, *deleted, refused.as_ref()));
        }
        _ => {}
    }
}

fn deleted_line(key: ObjectKey, path: String, directory: bool) -> Line {
    Line::Deleted(Deleted { path, directory, id: key.object.0, sender: key.sender.0 })
}

fn deletion_line(
    key: ObjectKey,
    roots: &[String],
    extra: Option<u64>,
    deleted: u64,
    refused: Option<&(Reason, String)>,
) -> Line {
    Line::Deletion(Deletion {
        id: key.object.0,
        sender: key.sender.0,
        roots: roots.to_vec(),
        extra,
        deleted,
        reason: refused.map(|(reason, _)| reason.name().to_owned()),
        why: refused.map(|(_, why)| why.clone()),
    })
}

/// One line, or none where there was nothing to do.
fn summary(
    roots: &[String],
    extra: Option<u64>,
    deleted: u64,
    refused: Option<&(Reason, String)>,
) -> Option<String> {
    let beneath = roots.iter().map(|root| format!("'{root}'")).collect::<Vec<_>>().join(", ");
    let Some((_, why)) = refused else {
        let names = names(deleted);
        return (deleted > 0)
            .then(|| format!("removed {names} beneath {beneath} not at the sender"));
    };
    // It may name what has never been checked.
    let why = Printable(why);
    Some(match extra {
        None => format!("warning: nothing is removed: {why}"),
        Some(extra) if deleted > 0 => {
            format!("warning: {deleted} of {} beneath {beneath} removed: {why}", names(extra))
        }
        Some(extra) => {
            let (names, stay) = (names(extra), if extra == 1 { "stays" } else { "stay" });
            format!("warning: {names} beneath {beneath} not at the sender {stay}: {why}")
        }
    })
}

fn names(count: u64) -> String {
    if count == 1 { "1 name".to_owned() } else { format!("{count} names") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_is_counted_and_what_stays_has_its_reason() {
        let roots = ["photos".to_owned(), "films".to_owned()];
        assert_eq!(summary(&roots, Some(0), 0, None), None);
        assert_eq!(
            summary(&roots, Some(12), 12, None).unwrap(),
            "removed 12 names beneath 'photos', 'films' not at the sender"
        );
        let refused = (Reason::DeleteUnsafe, "'a\x1b' is here".to_owned());
        assert_eq!(
            summary(&roots[..1], Some(1), 0, Some(&refused)).unwrap(),
            "warning: 1 name beneath 'photos' not at the sender stays: 'a\\u{1b}' is here"
        );
        assert_eq!(
            summary(&roots[..1], Some(9), 2, Some(&refused)).unwrap(),
            "warning: 2 of 9 names beneath 'photos' removed: 'a\\u{1b}' is here"
        );
        assert_eq!(
            summary(&[], None, 0, Some(&refused)).unwrap(),
            "warning: nothing is removed: 'a\\u{1b}' is here"
        );
    }
}
