//! What would be sent, without reading it.

use std::os::unix::fs::MetadataExt;

use super::{GatherOptions, NamedPath, SourceError, Sources, naming};
use crate::{
    reach,
    walk::{Found, Walk},
};

impl Sources {
    /// Names and sizes of all files that [`Self::gather_as`] would find. Standard input has no size.
    ///
    /// # Errors
    /// A path cannot be read, or two have one name.
    pub fn survey(
        paths: &[NamedPath],
        options: &GatherOptions,
        report: &mut dyn FnMut(&str, u64),
    ) -> Result<(), SourceError> {
        let names = naming::names(paths, &options.stdin_name, options.prefix.as_deref())?;
        for (named, name) in paths.iter().zip(names) {
            if named.is_stdin() {
                report(&name, 0);
                continue;
            }
            let path = &named.path;
            let unreadable = |error| SourceError::Unreadable(path.clone(), error);
            let meta = reach::metadata(path).map_err(unreadable)?;
            if !meta.is_dir() {
                report(&name, meta.size());
                continue;
            }
            for found in Walk::new(path, &name)? {
                let found = found?;
                if let Found::File(at, name) = &found
                    && found.is_taken(path, &options.selection)
                {
                    report(name, reach::metadata(at).map_err(unreadable)?.size());
                }
            }
        }
        Ok(())
    }
}
