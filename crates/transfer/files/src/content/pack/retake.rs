//! The files of a pack as they are now: one has changed.

use std::{path::PathBuf, sync::Arc};

use super::{
    alone::alone,
    format::is_long,
    packed::{Finished, Member, Packed, Root},
    packer::{Packer, Rest, Taken},
};

impl Packed {
    /// Its files as they are now, in packs again, and those that have no place in one any more: paths
    /// and names.
    pub(crate) fn retake(&self) -> (Vec<Finished>, Vec<(PathBuf, String)>) {
        let (mut packs, mut single) = (Vec::new(), Vec::new());
        let mut packer = Packer::default();
        for member in &self.members {
            match packer.take(&member.root, &member.path(), &member.name) {
                Ok(Taken::Yes(_)) => packs.extend(packer.full()),
                // What cannot be read is told when it is tried alone.
                Ok(Taken::No) | Err(_) => match in_pack_alone(member) {
                    Some(pack) => packs.push(pack),
                    None => single.push((member.path(), member.name.to_string())),
                },
            }
        }
        match packer.finish() {
            Rest::Pack(last) => packs.extend(last),
            Rest::Files(files, last) => {
                packs.extend(last);
                let named =
                    |(root, name): (Arc<Root>, Box<str>)| (root.path_of(&name), name.into());
                single.extend(files.into_iter().map(named));
            }
        }
        (packs, single)
    }
}

/// A file that has grown, and has a name for which only packs have room.
fn in_pack_alone(member: &Member) -> Option<Finished> {
    let is_long = is_long(&member.name);
    is_long.then(|| alone(&member.root, &member.path(), &member.name).ok()?).flatten()
}
