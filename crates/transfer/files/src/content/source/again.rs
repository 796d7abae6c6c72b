//! A file that has changed, read again.

use std::path::{Path, PathBuf};

use super::{
    SourceFile, Sources,
    file::{Content, Retaken},
};

impl SourceFile {
    /// Whether it is a file, or files, that have not been read again yet.
    #[must_use]
    pub fn may_be_retaken(&self) -> bool {
        self.again.is_none() && matches!(self.content, Content::File | Content::Pack(_))
    }

    /// The same as it is now, to be sent in the place of object `instead`; and what cannot be read.
    #[must_use]
    pub fn retake(&self, instead: Option<u16>) -> (Vec<Self>, Vec<PathBuf>) {
        let (mut sources, mut lost) = (Sources::default(), Vec::new());
        let mut take_file = |sources: &mut Sources, path: &Path, name: &str| {
            if sources.push_file(path, name.to_owned(), &mut |_| {}).is_err() {
                lost.push(path.to_owned());
            }
        };
        match &self.content {
            Content::Pack(pack) => {
                let (packs, files) = pack.retake();
                packs.into_iter().for_each(|pack| sources.push_pack(pack));
                files.iter().for_each(|(path, name)| take_file(&mut sources, path, name));
            }
            _ => take_file(&mut sources, &self.path, &self.name),
        }
        let again = Some(Retaken { instead });
        let files = sources.files.into_iter().map(|file| Self { again, ..file }).collect();
        (files, lost)
    }
}

#[cfg(test)]
impl SourceFile {
    /// The same, as if it had been read again before.
    #[must_use]
    pub fn retaken(self) -> Self {
        Self { again: Some(Retaken { instead: None }), ..self }
    }
}
