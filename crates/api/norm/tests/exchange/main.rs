//! Two instances of this process, as a program sees them: what one sends comes to the other.

mod one_port;
mod program;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use norm::kinds::EventType as E;
use program::{Program, receiver, sender};

const ID: u32 = 1;
const OTHER: u32 = 2;

#[test]
fn data_comes_whole_with_its_info_and_its_watermark_is_acknowledged() {
    let (sender, receiver) = (sender(41, ID), receiver(41, OTHER));
    assert!(sender.add_acking_node(OTHER));
    let sent = vec![7; 100_000];
    let object = sender.enqueue(&sent, b"info");
    assert!(!object.is_null() && sender.set_watermark(object));
    let event = receiver.await_event(E::RxObjectCompleted);
    assert_eq!(program::data(event.object), sent);
    assert_eq!(program::info(event.object), b"info");
    sender.await_event(E::TxWatermarkCompleted);
    assert_eq!(sender.acking_status(OTHER), 3);
    assert_eq!((receiver.completed(), program::node_id(event.sender)), (1, ID));
}

/// Each is another instance of the same node, at another port.
#[test]
fn a_sender_that_is_started_anew_loses_nothing_of_what_it_sends_first() {
    let receiver = receiver(74, OTHER);
    for instance in 1..=20 {
        let sender = Program::new(74, ID);
        sender.send_as(instance);
        sender.enqueue(&[instance as u8; 2000], b"");
        let event = receiver.await_event(E::RxObjectCompleted);
        assert_eq!(program::data(event.object), [instance as u8; 2000]);
    }
    assert_eq!(receiver.events_of(E::RemoteSenderReset), 19);
    assert_eq!(receiver.events_of(E::RxObjectAborted), 0);
}

#[test]
fn an_empty_object_comes_and_several_come_in_order() {
    let (sender, receiver) = (sender(42, ID), receiver(42, OTHER));
    for content in [&b""[..], b"one", b"two"] {
        sender.enqueue(content, b"i");
        let event = receiver.await_event(E::RxObjectCompleted);
        assert_eq!(program::data(event.object), content);
    }
}

#[test]
fn a_file_comes_into_the_cache_folder_and_takes_another_name() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange-file");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("in")).unwrap();
    let (sender, receiver) = (sender(43, ID), receiver(43, OTHER));
    assert!(receiver.set_cache(&folder.join("in")));
    let content: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
    fs::write(folder.join("out"), &content).unwrap();
    assert!(!sender.enqueue_file(&folder.join("out")).is_null());
    let event = receiver.await_event(E::RxObjectCompleted);
    assert_eq!(fs::read(program::file_name(event.object)).unwrap(), content);
    let name = folder.join("in/deeper/name");
    assert!(program::rename(event.object, &name));
    assert_eq!(fs::read(name).unwrap(), content);
}

/// As NRL's examples do: most are whole before the program hears of them.
#[test]
fn a_small_file_has_its_name_and_takes_another_at_each_event() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange-small");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("in")).unwrap();
    let (sender, receiver) = (sender(66, ID), receiver(66, OTHER));
    assert!(receiver.set_cache(&folder.join("in")));
    let kinds = [E::RxObjectNew, E::RxObjectInfo, E::RxObjectCompleted];
    for (n, kind) in kinds.into_iter().cycle().take(12).enumerate() {
        // The first of each kind is empty.
        let content = if n < 3 { String::new() } else { format!("file {n}") };
        let out = folder.join(format!("out{n}"));
        fs::write(&out, &content).unwrap();
        assert!(!sender.enqueue_file_with(&out, b"info").is_null());
        let event = receiver.await_event(kind);
        let name = program::file_name(event.object);
        let last = name.file_name().unwrap().to_str().unwrap();
        assert!(last.starts_with("normTemp") && last.len() == 14, "{last}");
        let mode = fs::metadata(&name).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !0o640, 0, "{mode:o}");
        let other = folder.join(format!("name{n}"));
        assert!(program::rename(event.object, &other), "{kind:?}");
        if kind as i32 != E::RxObjectCompleted as i32 {
            let event = receiver.await_event(E::RxObjectCompleted);
            assert_eq!(program::file_name(event.object), other);
        }
        assert_eq!(fs::read_to_string(other).unwrap(), content, "{kind:?}");
    }
}

/// Answers of Debian's libnorm 1.5.9 in each case.
#[test]
fn the_status_of_acknowledgements_is_that_of_nrls_before_during_and_after_a_watermark() {
    const ANY: u32 = u32::MAX;
    const FAILURE: i32 = 1;
    const PENDING: i32 = 2;
    const SUCCESS: i32 = 3;
    // Nodes that are asked; what all of them are said to be at first, and what they are at the end.
    for (group, nodes, at_first, at_last) in [
        (57, &[][..], SUCCESS, SUCCESS),
        (58, &[OTHER], FAILURE, FAILURE),
        (59, &[0], FAILURE, SUCCESS),
    ] {
        let sender = Program::new(group, ID);
        assert_eq!(sender.acking_status(ANY), SUCCESS);
        sender.set_robust(2);
        sender.send();
        for node in nodes {
            assert!(sender.add_acking_node(*node));
            assert_eq!(sender.acking_status(*node), PENDING);
        }
        assert_eq!(sender.acking_status(ANY), at_first, "{nodes:?}");
        // Slow enough that it is not sent before the question.
        sender.set_rate(64e3);
        let object = sender.enqueue(&[7; 5000], b"");
        assert_eq!(sender.acking_status(ANY), at_first, "{nodes:?}");
        assert!(sender.set_watermark(object));
        assert_eq!(sender.acking_status(ANY), PENDING, "{nodes:?}");
        sender.cancel_watermark();
        assert_eq!(sender.acking_status(ANY), at_first, "{nodes:?}");
        sender.set_rate(50e6);
        assert!(sender.set_watermark(object));
        let ends = if nodes.is_empty() { E::TxFlushCompleted } else { E::TxWatermarkCompleted };
        sender.await_event(ends);
        assert_eq!(sender.acking_status(ANY), at_last, "{nodes:?}");
        let told = usize::from(!nodes.is_empty());
        assert_eq!(sender.events_of(E::TxWatermarkCompleted), told, "{nodes:?}");
    }
}

#[test]
fn a_rate_that_is_set_while_it_adapts_holds_at_once_and_stays_when_it_adapts_no_more() {
    for (group, most, set, present) in
        [(70, -1.0, 2e6, 2e6), (71, 1e6, 2e6, 1e6), (72, -1.0, 1e5, 1e5), (73, 3e6, 3e5, 3e5)]
    {
        let sender = Program::new(group, ID);
        sender.adapt(true);
        sender.send();
        sender.bound_rate(-1.0, most);
        sender.set_rate(set);
        assert_eq!(sender.rate(), present, "{set} of {most}");
        sender.adapt(false);
        assert_eq!(sender.rate(), present, "{set} of {most}, fixed");
        sender.set_rate(64e3);
        assert_eq!(sender.rate(), 64e3);
    }
}

#[test]
fn without_a_cache_folder_files_are_ignored_and_data_is_not() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange-ignored");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("out"), b"content").unwrap();
    let (sender, receiver) = (sender(44, ID), receiver(44, OTHER));
    sender.enqueue_file(&folder.join("out"));
    sender.enqueue(b"data", b"");
    let event = receiver.await_event(E::RxObjectNew);
    assert_eq!(program::kind(event.object), 1);
}

#[test]
fn a_stream_comes_in_order_with_its_messages_and_its_end() {
    let (sender, receiver) = (sender(45, ID), receiver(45, OTHER));
    let stream = sender.open_stream(200_000);
    let sent: Vec<u8> = (0..300_000_u32).map(|n| (n / 3) as u8).collect();
    sender.write_all(stream, &sent);
    program::close(stream);
    let got = receiver.read_stream_to_its_end();
    assert_eq!(got.len(), sent.len());
    assert!(got == sent);
    let event = sender.await_event(E::TxObjectPurged);
    assert_eq!(event.object, stream);
}

#[test]
fn seeking_skips_to_the_beginning_of_a_message() {
    let (sender, receiver) = (sender(46, ID), receiver(46, OTHER));
    let stream = sender.open_stream(200_000);
    program::write(stream, b"first");
    program::flush(stream, true, 1);
    program::write(stream, b"second");
    program::flush(stream, true, 2);
    let event = receiver.await_event(E::RxObjectUpdated);
    assert!(program::seek(event.object));
    assert_eq!(program::read(event.object, 2).unwrap(), b"fi");
    while !program::seek(event.object) {
        receiver.await_event(E::RxObjectUpdated);
    }
    assert_eq!(program::read(event.object, 100).unwrap(), b"second");
    assert!(!program::seek(event.object), "nothing more is here");
}

#[test]
fn a_command_comes_to_the_program_at_the_receiver() {
    let (sender, receiver) = (sender(47, ID), receiver(47, OTHER));
    sender.enqueue(b"so that it is known", b"");
    receiver.await_event(E::RxObjectCompleted);
    assert!(sender.command(b"do it"));
    sender.await_event(E::TxCmdSent);
    let event = receiver.await_event(E::RxCmdNew);
    assert_eq!(program::command(event.sender).unwrap(), b"do it");
    assert_eq!(program::command(event.sender), None);
}

#[test]
fn a_question_with_a_watermark_is_answered_by_the_other_program() {
    let (sender, receiver) = (sender(48, ID), receiver(48, OTHER));
    sender.add_acking_node(OTHER);
    let object = sender.enqueue(b"data", b"");
    assert!(sender.ask_with_watermark(object, b"have you it?"));
    let event = receiver.await_event(E::RxAckRequest);
    assert_eq!(program::question(event.sender).unwrap()[..12], b"have you it?"[..]);
    assert!(program::answer(event.sender, b"yes I do"));
    sender.await_event(E::TxWatermarkCompleted);
    assert_eq!(sender.answer_of(OTHER).unwrap()[..8], b"yes I do"[..]);
}

#[test]
fn a_watermark_that_nobody_answers_has_failed_and_can_be_tried_again() {
    let sender = sender(49, ID);
    sender.add_acking_node(OTHER);
    sender.set_robust(2);
    let object = sender.enqueue(b"data", b"");
    assert!(sender.set_watermark(object));
    sender.await_event(E::TxWatermarkCompleted);
    assert_eq!(sender.acking_status(OTHER), 1);
    let receiver = receiver(49, OTHER);
    sender.set_robust(20);
    assert!(sender.reset_watermark());
    sender.await_event(E::TxWatermarkCompleted);
    assert_eq!(sender.acking_status(OTHER), 3);
    receiver.await_event(E::RxObjectCompleted);
}

/// Answers and events of Debian's libnorm 1.5.9, found by running random calls on both (interop `calls`).
#[test]
fn what_programs_see_of_rare_calls_is_what_nrls_tells() {
    let (sender, receiver) = (Program::new(75, ID), receiver(75, OTHER));
    for (set, told) in [(0.141, 0.149), (0.01, 0.01)] {
        sender.set_grtt(set);
        assert!((sender.grtt() - told).abs() < 0.06 * told, "{set}: {}", sender.grtt());
    }
    sender.send();
    assert_eq!(receiver.bound_to(), Some((0, 17_675)));
    // A sender is told for its command alone, and no second time for its objects.
    assert!(sender.command(b"do it"));
    receiver.await_event(E::RxCmdNew);
    assert_eq!(receiver.events_of(E::RemoteSenderNew), 1);
    let object = sender.enqueue(&[7; 3000], b"");
    receiver.await_event(E::RxObjectCompleted);
    assert_eq!(receiver.events_of(E::RemoteSenderNew), 1);
    // An object that goes once more is told as sent once more.
    sender.await_event(E::TxObjectSent);
    assert!(sender.requeue(object));
    sender.await_event(E::TxObjectSent);
    // Whoever has acknowledged has done so, also after the watermark is cancelled.
    assert!(sender.add_acking_node(OTHER) && sender.set_watermark(object));
    sender.await_event(E::TxWatermarkCompleted);
    sender.cancel_watermark();
    assert_eq!(sender.acking_status(OTHER), 3);
    // A stream that has nothing to send says so; one that is open when its receiver stops is aborted.
    while sender.next_event().is_some() {}
    let stream = sender.open_stream(100_000);
    assert_eq!(sender.await_event(E::TxQueueEmpty).object, stream);
    program::write(stream, b"begun");
    program::flush(stream, true, 2);
    let event = receiver.await_event(E::RxObjectUpdated);
    receiver.stop_receiving();
    assert_eq!(receiver.await_event(E::RxObjectAborted).object, event.object);
}

#[test]
fn a_session_that_hears_itself_receives_what_it_sends() {
    let both = Program::new(50, ID);
    both.hear_itself();
    both.send();
    both.receive();
    both.enqueue(b"to myself", b"");
    let event = both.await_event(E::RxObjectCompleted);
    assert_eq!(program::data(event.object), b"to myself");
}

#[test]
fn a_receiver_that_requests_nothing_goes_on_behind_what_is_lost() {
    let (sender, receiver) = (sender(51, ID), receiver(51, OTHER));
    receiver.request_nothing();
    receiver.lose(30.0);
    let stream = sender.open_stream(100_000);
    // The receiver keeps less than half of it.
    sender.write_all(stream, &vec![1; 400_000]);
    let (bytes, breaks) = receiver.read_stream_until(50_000);
    assert!(breaks > 0 && bytes >= 50_000, "{bytes} bytes, {breaks} breaks");
    assert_eq!(receiver.events_of(E::RxObjectAborted), 0);
}

#[test]
fn writing_to_a_stream_that_is_received_takes_nothing() {
    let (sender, receiver) = (sender(52, ID), receiver(52, OTHER));
    let stream = sender.open_stream(100_000);
    program::write(stream, b"to be read");
    program::flush(stream, true, 2);
    let event = receiver.await_event(E::RxObjectUpdated);
    assert_eq!(program::write(event.object, b"no"), 0);
    assert_eq!(program::read(event.object, 100).unwrap(), b"to be read");
}

#[test]
fn a_program_that_fetches_no_events_finds_few_of_them_and_every_byte() {
    let (sender, receiver) = (sender(53, ID), receiver(53, OTHER));
    let stream = sender.open_stream(100_000);
    // As many symbols as the stream surely takes.
    for _ in 0..60 {
        assert_eq!(program::write(stream, b"ten bytes."), 10);
        program::flush(stream, true, 2);
    }
    program::flush(stream, true, 2);
    sender.await_event(E::TxFlushCompleted);
    let event = receiver.await_event(E::RxObjectUpdated);
    let bytes = program::read(event.object, 10_000).unwrap();
    assert_eq!(bytes, b"ten bytes.".repeat(60));
    while receiver.next_event().is_some() {}
    assert!(receiver.events_of(E::RxObjectUpdated) <= 2);
}
