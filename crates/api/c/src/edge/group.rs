//! Messages of groups.

use std::{
    ffi::{c_char, c_void},
    ptr,
};

use fanfare_binding::{Arrival, Fate, Member, Message, Standing, Wait};

use super::{
    call::{Held, Refusal, call, options as given},
    words::{bytes, place, put, text},
};
use crate::{
    handle::{self, Thing},
    kept::Kept,
    types::{
        fanfare_arrival, fanfare_group, fanfare_message, fanfare_options, fanfare_publisher,
        fanfare_receipt, fanfare_result, fanfare_standing,
    },
};

/// Takes part in a group.
///
/// # Safety
/// `address` ends with a zero byte; `group` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_join(
    address: *const c_char,
    options: fanfare_options,
    group: *mut fanfare_group,
) -> fanfare_result {
    call(c"fanfare_join", || {
        let group = place("group", group)?;
        // SAFETY: what the caller says.
        let address = unsafe { text("address", address)? };
        let made = handle::insert(Thing::Member(Member::join(address, &given(options)?)?))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(group, made) };
        Ok(())
    })
}

/// The id of this member; 0 for what is no member.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_node(group: fanfare_group) -> u32 {
    let mut node = 0;
    call(c"fanfare_node", || {
        node = Held::of(group)?.member()?.node();
        Ok(())
    });
    node
}

/// Asks for the messages on some topics, such as "weather/#". Puts the subscription's number into
/// `subscription`, unless that is null.
///
/// # Safety
/// `topics` ends with a zero byte; `subscription` is null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_subscribe(
    group: fanfare_group,
    topics: *const c_char,
    options: fanfare_options,
    subscription: *mut u32,
) -> fanfare_result {
    call(c"fanfare_subscribe", || {
        // SAFETY: what the caller says.
        let topics = unsafe { text("topics", topics)? };
        let number = Held::of(group)?.member()?.subscribe(topics, &given(options)?)?;
        // SAFETY: the same.
        unsafe { put(subscription, number) };
        Ok(())
    })
}

/// Ends a subscription.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_unsubscribe(group: fanfare_group, subscription: u32) -> fanfare_result {
    call(c"fanfare_unsubscribe", || match Held::of(group)?.member()?.unsubscribe(subscription)? {
        true => Ok(()),
        false => Err(Refusal::invalid(format!("subscription ({subscription}): there is none"))),
    })
}

/// Publishes a message; waits while too many are on their way. Puts its number into `message`, unless
/// that is null.
///
/// # Safety
/// `topic` ends with a zero byte; `data` is null for no bytes, or has `length` of them; `message` is
/// null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_publish(
    group: fanfare_group,
    topic: *const c_char,
    data: *const c_void,
    length: usize,
    options: fanfare_options,
    message: *mut u32,
) -> fanfare_result {
    call(c"fanfare_publish", || {
        // SAFETY: what the caller says.
        let (topic, data) = unsafe { (text("topic", topic)?, bytes("data", data, length)?) };
        let held = Held::of(group)?;
        let number = held.member()?.publish(topic, data.to_vec(), &given(options)?)?;
        // SAFETY: the same.
        unsafe { put(message, number) };
        Ok(())
    })
}

/// For many messages on one topic: those sent close together travel together.
///
/// # Safety
/// `topic` ends with a zero byte; `publisher` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_publisher_open(
    group: fanfare_group,
    topic: *const c_char,
    options: fanfare_options,
    publisher: *mut fanfare_publisher,
) -> fanfare_result {
    call(c"fanfare_publisher_open", || {
        let publisher = place("publisher", publisher)?;
        // SAFETY: what the caller says.
        let topic = unsafe { text("topic", topic)? };
        let made = Held::of(group)?.member()?.publisher(topic, &given(options)?)?;
        let made = handle::insert(Thing::Publisher(made))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(publisher, made) };
        Ok(())
    })
}

/// Publishes one of many messages.
///
/// # Safety
/// `data` is null for no bytes, or has `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_publisher_send(
    publisher: fanfare_publisher,
    data: *const c_void,
    length: usize,
) -> fanfare_result {
    call(c"fanfare_publisher_send", || {
        // SAFETY: what the caller says.
        let data = unsafe { bytes("data", data, length)? };
        Ok(Held::of(publisher)?.publisher()?.send(data)?)
    })
}

/// Waits until all of them are on their way.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_publisher_flush(publisher: fanfare_publisher) -> fanfare_result {
    call(c"fanfare_publisher_flush", || Ok(Held::of(publisher)?.publisher()?.flush()?))
}

/// Withdraws own messages with this tag, as far as they still wait or can be repaired. Puts their number
/// into `count`, unless that is null.
///
/// # Safety
/// `count` is null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_cancel(
    group: fanfare_group,
    tag: u64,
    count: *mut u64,
) -> fanfare_result {
    call(c"fanfare_cancel", || {
        let withdrawn = Held::of(group)?.member()?.cancel(tag)?;
        // SAFETY: what the caller says.
        unsafe { put(count, withdrawn) };
        Ok(())
    })
}

/// What comes next; waits so many milliseconds for it, below zero without end.
///
/// # Safety
/// `message` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_group_next(
    group: fanfare_group,
    timeout_ms: i64,
    message: *mut fanfare_message,
) -> fanfare_result {
    call(c"fanfare_group_next", || {
        let message = place("message", message)?;
        let held = Held::of(group)?;
        let found = held.member()?.next(Wait::of_millis(timeout_ms))?;
        let told = told(found, &mut held.kept());
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(message, told) };
        Ok(())
    })
}

fn told(arrival: Arrival, kept: &mut Kept) -> fanfare_message {
    let mut told = fanfare_message {
        kind: fanfare_arrival::FANFARE_MESSAGE,
        node: 0,
        topic: ptr::null(),
        data: ptr::null(),
        length: 0,
        number: 0,
        subscription: 0,
        age: 0.0,
    };
    match arrival {
        Arrival::Message(message) => {
            let Message { topic, bytes, publisher, number, subscription, age } = message;
            told.topic = kept.text(&topic);
            let bytes = kept.bytes(bytes);
            (told.data, told.length) = (bytes.as_ptr().cast(), bytes.len());
            (told.node, told.number, told.subscription) = (publisher, number, subscription);
            told.age = age.as_secs_f64();
        }
        Arrival::Lost(number) => {
            (told.kind, told.number) = (fanfare_arrival::FANFARE_LOST, number);
        }
        Arrival::Joined(node) => (told.kind, told.node) = (fanfare_arrival::FANFARE_JOINED, node),
        Arrival::Left(node) => (told.kind, told.node) = (fanfare_arrival::FANFARE_GONE, node),
    }
    told
}

/// What is new of own messages that were published with the option "receipts". Puts the place of the first
/// receipt into `receipts`, and their number into `count`; they stay until the next call with the same
/// handle. It does not wait: members are asked, and what they say is there a little later.
///
/// # Safety
/// `receipts` and `count` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_receipts(
    group: fanfare_group,
    receipts: *mut *const fanfare_receipt,
    count: *mut usize,
) -> fanfare_result {
    call(c"fanfare_receipts", || {
        let (receipts, count) = (place("receipts", receipts)?, place("count", count)?);
        let held = Held::of(group)?;
        let fates = held.member()?.receipts()?;
        let mut kept = held.kept();
        let all = kept.receipts(fates.iter().flat_map(listed).collect());
        // SAFETY: they are not null, and the caller says that they can be written.
        unsafe {
            put(receipts, all.as_ptr());
            put(count, all.len());
        }
        Ok(())
    })
}

fn listed(fate: &Fate) -> Vec<fanfare_receipt> {
    let one = |node, standing| fanfare_receipt { message: fate.message, node, standing };
    let sent = fate.sent.then(|| one(0, fanfare_standing::FANFARE_SENT));
    let gone = fate.gone.then(|| one(0, fanfare_standing::FANFARE_OVER));
    let members = fate.standings.iter().map(|(node, standing)| {
        one(
            *node,
            match standing {
                Standing::Holds => fanfare_standing::FANFARE_HOLDS,
                Standing::Lacks => fanfare_standing::FANFARE_LACKS,
                Standing::Unwanted => fanfare_standing::FANFARE_UNWANTED,
            },
        )
    });
    sent.into_iter().chain(members).chain(gone).collect()
}
