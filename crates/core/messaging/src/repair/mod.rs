//! Repairs for an origin that does not answer: who requests, who answers, when, and with what.

pub(crate) mod carried_rate;
pub(crate) mod demand;
pub(crate) mod origin_timeout;
pub(crate) mod outstanding;
pub(crate) mod rank;
pub(crate) mod repair_round;
pub(crate) mod repairer;
pub(crate) mod request_pool;
pub(crate) mod requester;
pub(crate) mod symbol_choice;
pub(crate) mod token_bucket;
