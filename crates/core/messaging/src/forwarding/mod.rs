//! Messages that are forwarded without a request, to nodes that do not hear their sender.

pub(crate) mod coverage;
pub(crate) mod relay;
