//! What a client of a node asks to be given.

use std::time::Duration;

use crate::Failure;
use clap::ValueEnum as _;
use fanfare_node::messaging::Subscription;

use super::{
    request::Request,
    topics::{filter as filter_of, priority as priority_of},
    wanted::{Order, history as history_of},
};

/// What a client of a node asks for, and the filter as it wrote it.
pub(super) fn subscription_of(request: Request) -> Result<(String, Subscription), Failure> {
    let Request::Subscribe { filter, order, history, priority, deadline_ms, unreliable, .. } =
        request
    else {
        let text = "request (another): is no subscription. Write \"do\":\"subscribe\"";
        return Err(Failure::usage("request.invalid", text));
    };
    let order = order.unwrap_or_else(|| "arrival".to_owned());
    let ordering = Order::from_str(&order, false).map_err(|_| {
        let text =
            format!("order ({order}): not known. Use one of: arrival, source, topic, latest");
        Failure::usage("request.invalid", text)
    })?;
    let subscription = Subscription {
        reliable: !unreliable,
        ordering: ordering.into(),
        deadline: deadline_ms.map(Duration::from_millis),
        priority_min: priority_of(priority.unwrap_or(0))?,
        history: history_of(history.as_deref().unwrap_or("all"))?,
        ..Subscription::new(filter_of(&filter)?)
    };
    Ok((filter, subscription))
}
