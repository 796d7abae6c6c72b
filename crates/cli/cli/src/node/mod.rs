//! `fanfare node`: a member of one or more groups that is always there, for programs on this machine.
//!
//! - `plan`: what it is to do; `serving`: it does; `status`: how another process's node stands

mod plan;
mod serving;
mod status;

pub(crate) use plan::{GroupPlan, NodePlan, clashes};
pub(crate) use serving::run;
pub(crate) use status::status;
