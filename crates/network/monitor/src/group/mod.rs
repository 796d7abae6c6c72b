//! A group as its monitor knows it: nodes, who hears whom, what is wrong.
//!
//! - `view`: what is told, and the document that is made of it; `troubles`: alerts
//! - `places`: where nodes stand; `page`: the server with a group behind it

mod page;
mod places;
mod troubles;
mod view;

pub use page::{GroupPage, More};
pub use places::{Misplaced, Placed};
pub use view::{DropCounts, GroupView, Heard, Node, Seen};
