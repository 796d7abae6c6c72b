//! Calls while another thread suspends, resumes or destroys the instance.

use std::ptr;

use norm::edge::{enqueue::*, instance::*, session::*, stream::*};

use crate::{Word, open, session, started};

#[test]
fn destroying_an_instance_ends_the_waiting_of_other_threads_also_while_it_is_suspended() {
    let instance = NormCreateInstance(false);
    let word = instance as usize;
    let waits = || {
        std::thread::spawn(move || {
            // SAFETY: nothing is written.
            unsafe { NormGetNextEvent(word as Word, ptr::null_mut(), true) }
        })
    };
    let waiting = [waits(), waits()];
    assert!(NormSuspendInstance(instance) && NormSuspendInstance(instance));
    NormDestroyInstance(instance);
    for thread in waiting {
        assert!(!thread.join().unwrap());
    }
}

#[test]
fn another_thread_waits_until_an_instance_is_resumed() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 13) as usize;
    assert!(NormSuspendInstance(instance));
    let thread = std::thread::spawn(move || NormGetLocalNodeId(session as Word));
    assert_eq!(NormGetLocalNodeId(session as Word), 5, "whoever suspended it may call");
    NormResumeInstance(instance);
    assert_eq!(thread.join().unwrap(), 5);
    NormDestroyInstance(instance);
}

#[test]
fn calls_of_other_threads_during_the_end_are_answered() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 14) as usize;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..2000 {
                    let stream = open(session as Word, 1000);
                    // SAFETY: one byte.
                    unsafe { NormStreamWrite(stream, [1].as_ptr(), 1) };
                    NormStreamClose(stream, false);
                }
            })
        })
        .collect();
    NormDestroyInstance(instance);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
