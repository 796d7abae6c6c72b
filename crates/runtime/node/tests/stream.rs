//! Streams over the loopback interface, with loss on purpose.

use std::{
    io::{Read as _, Write as _},
    thread,
    time::Duration,
};

use fanfare_node::{
    Network,
    proto::{Bitrate, SenderConfig, StreamPolicy},
    stream::{
        Expect, Framing, Outcome, ReceiveOptions, SendOptions, SendReport, StreamGap,
        StreamReceiver, StreamSender,
    },
};

/// Each test has a port of its own.
fn network(test: u16) -> Network {
    let port = 21_000 + (std::process::id() % 1_000) as u16 * 20 + test;
    let sender = SenderConfig {
        rate: Bitrate::mbps(200),
        grtt_initial: Duration::from_millis(10),
        ..SenderConfig::default()
    };
    Network::new(format!("norm://lo;239.255.77.9:{port}").parse().unwrap()).sender_config(sender)
}

fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(next).collect()
}

fn options(name: &str) -> ReceiveOptions {
    ReceiveOptions { name: name.to_owned(), ..ReceiveOptions::default() }
}

fn lossless(receivers: usize) -> SendOptions {
    SendOptions {
        expect: Expect::Count(receivers),
        policy: StreamPolicy::Lossless,
        buffer: 1 << 20,
        ..SendOptions::default()
    }
}

/// Reads to the end, and says so.
fn read_all(mut receiver: StreamReceiver) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        receiver.set_timeout(Some(Duration::from_secs(30)));
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).unwrap();
        receiver.finish();
        all
    })
}

fn send(mut sender: StreamSender, bytes: &[u8]) -> SendReport {
    sender.write_all(bytes).unwrap();
    sender.finish()
}

#[test]
fn a_lossless_stream_reaches_three_whole_though_each_loses_five_percent() {
    let network = network(0);
    let readers: Vec<_> = ["a", "b", "c"]
        .map(|name| network.clone().test_drop(0.05).receive_stream(options(name)).unwrap())
        .into_iter()
        .map(read_all)
        .collect();
    let sent = bytes(6_000_000);
    let report = send(network.send_stream(lossless(3)).unwrap(), &sent);
    for reader in readers {
        assert!(reader.join().unwrap() == sent);
    }
    assert_eq!((report.whole(), report.is_complete()), (3, true), "{report:?}");
    let mut names: Vec<_> = report.receivers.iter().map(|(_, name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn an_empty_stream_ends_whole() {
    let network = network(1);
    let reader = read_all(network.clone().receive_stream(options("a")).unwrap());
    let report = network.send_stream(lossless(1)).unwrap().finish();
    assert!(reader.join().unwrap().is_empty());
    assert_eq!((report.whole(), report.bytes), (1, 0), "{report:?}");
}

#[test]
fn a_receiver_that_does_not_read_holds_a_lossless_stream_and_gets_all_of_it_later() {
    let network = network(2);
    let receiver = network.clone().receive_stream(options("slow")).unwrap();
    let mut sender = network.send_stream(lossless(1)).unwrap();
    let sent = bytes(12_000_000);
    let mut written = 0;
    for _ in 0..400 {
        written += sender.try_write(&sent[written..]).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    assert!(written < 9 << 20, "{written} bytes were taken");
    let reader = read_all(receiver);
    let report = send(sender, &sent[written..]);
    assert!(reader.join().unwrap() == sent);
    assert!(report.is_complete(), "{report:?}");
}

#[test]
fn a_receiver_that_has_left_is_told_apart_from_those_that_have_everything() {
    let network = network(3);
    let gone = network.clone().receive_stream(options("gone")).unwrap();
    let reader = read_all(network.clone().receive_stream(options("here")).unwrap());
    let mut sender = network.send_stream(lossless(2)).unwrap();
    let sent = bytes(3_000_000);
    sender.write_all(&sent[..1000]).unwrap();
    while sender.status().receivers < 2 {
        sender.wait(Duration::from_millis(10));
    }
    drop(gone);
    let report = send(sender, &sent[1000..]);
    assert!(reader.join().unwrap() == sent);
    let of = |name: &str| report.receivers.iter().find(|(_, n, _)| n == name).unwrap().2.clone();
    assert!(matches!(of("here"), Outcome::Whole(Some(_))), "{report:?}");
    assert_eq!(of("gone"), Outcome::Left);
}

#[test]
fn messages_arrive_whole_and_in_order_however_short_they_are() {
    for (test, framing) in [(4, Framing::U16), (5, Framing::Varint)] {
        let network = network(test);
        let mut receiver = network.clone().test_drop(0.02).receive_stream(options("a")).unwrap();
        receiver.set_timeout(Some(Duration::from_secs(30)));
        let options = SendOptions { framing, ..lossless(1) };
        let mut sender = network.send_stream(options).unwrap();
        let message = |n: usize| bytes(n % 300 + if n.is_multiple_of(500) { 40_000 } else { 0 });
        let writer = thread::spawn(move || {
            (0..5000).for_each(|n| sender.write_message(&message(n)).unwrap());
            sender.finish()
        });
        let mut count = 0;
        while let Some(got) = receiver.read_message().unwrap() {
            assert!(got.bytes == message(count) && !got.gap_before, "message {count}");
            count += 1;
        }
        assert_eq!(count, 5000);
        receiver.finish();
        assert!(writer.join().unwrap().is_complete());
    }
}

#[test]
fn without_order_a_message_does_not_wait_for_what_is_missing_before_it_and_each_comes_once() {
    let network = network(10);
    let options = ReceiveOptions { unordered: true, ..options("a") };
    let mut receiver = network.clone().test_drop(0.1).receive_stream(options).unwrap();
    receiver.set_timeout(Some(Duration::from_secs(30)));
    let options = SendOptions { framing: Framing::Varint, ..lossless(1) };
    let mut sender = network.send_stream(options).unwrap();
    let message = |n: usize| [&(n as u32).to_be_bytes()[..], &bytes(n % 3000)].concat();
    let writer = thread::spawn(move || {
        (0..5000).for_each(|n| sender.write_message(&message(n)).unwrap());
        sender.finish()
    });
    let (mut came, mut early) = (vec![false; 5000], 0);
    while let Some(got) = receiver.read_message().unwrap() {
        let number = u32::from_be_bytes(got.bytes[..4].try_into().unwrap()) as usize;
        assert!(got.bytes == message(number) && !got.gap_before, "message {number}");
        assert!(!std::mem::replace(&mut came[number], true), "message {number} came twice");
        early += usize::from(got.early);
    }
    assert!(came.iter().all(|came| *came) && early > 0, "{early} before their turn");
    receiver.finish();
    assert!(writer.join().unwrap().is_complete());
}

#[test]
fn a_live_stream_does_not_wait_for_a_slow_reader_which_is_told_what_it_missed() {
    let network = network(6);
    let mut receiver = network.clone().receive_stream(options("slow")).unwrap();
    receiver.set_timeout(Some(Duration::from_secs(30)));
    let options = SendOptions {
        expect: Expect::Count(1),
        policy: StreamPolicy::Live,
        buffer: 1 << 18,
        ..SendOptions::default()
    };
    let mut sender = network.send_stream(options).unwrap();
    let sent = bytes(8_000_000);
    sender.write_all(&sent).unwrap();
    thread::sleep(Duration::from_millis(500));
    let closing = thread::spawn(move || sender.finish());
    let (mut at, mut gaps) = (0, 0);
    loop {
        match receiver.read_chunk() {
            Ok(chunk) if chunk.is_empty() => break,
            Ok(chunk) => {
                let start = receiver.offset() as usize - chunk.len();
                assert!(at == 0 || start == at, "{start} follows {at}");
                assert!(sent[start..start + chunk.len()] == chunk);
                at = start + chunk.len();
            }
            Err(error) => {
                let gap = error.get_ref().and_then(|why| why.downcast_ref::<StreamGap>());
                let gap = gap.unwrap_or_else(|| panic!("{error}"));
                assert_eq!(gap.from as usize, at);
                at = gap.to as usize;
                gaps += 1;
            }
        }
    }
    assert_eq!(at, sent.len());
    let lost = receiver.finish().receipt.unwrap();
    assert!(gaps > 0 || lost.first > 0, "{lost:?}");
    let report = closing.join().unwrap();
    assert!(matches!(report.receivers[0].2, Outcome::Gaps(_)), "{report:?}");
}

#[test]
fn a_stream_that_nobody_comes_for_says_who_is_missing() {
    let network = network(7);
    let options = SendOptions { wait: Duration::from_millis(600), ..lossless(1) };
    let report = network.send_stream(options).unwrap().finish();
    assert_eq!((report.receivers.len(), report.missing.len()), (0, 1));
}

#[test]
fn a_stream_to_one_machine_goes_by_unicast() {
    let port = 21_000 + (std::process::id() % 1_000) as u16 * 20 + 8;
    let spec = fanfare_node::GroupSpec::parse_unicast_too(&format!("127.0.0.1:{port}")).unwrap();
    let network = network(8).group(spec);
    let reader = read_all(network.clone().test_drop(0.05).receive_stream(options("a")).unwrap());
    let sent = bytes(3_000_000);
    let report = send(network.send_stream(lossless(1)).unwrap(), &sent);
    assert!(reader.join().unwrap() == sent);
    assert!(report.is_complete(), "{report:?}");
}

#[cfg(feature = "tokio")]
#[test]
fn tasks_write_and_read_a_stream_by_the_traits_of_tokio() {
    use std::{
        future::poll_fn,
        pin::{Pin, pin},
        sync::Arc,
        task::{Context, Poll, Wake, Waker},
    };

    use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    fn run<T>(task: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let (mut task, mut context) = (pin!(task), Context::from_waker(&waker));
        loop {
            match task.as_mut().poll(&mut context) {
                Poll::Ready(done) => return done,
                Poll::Pending => thread::park(),
            }
        }
    }

    let network = network(9);
    let mut receiver = network.clone().receive_stream(options("a")).unwrap();
    let mut sender = network.send_stream(lossless(1)).unwrap();
    let sent = bytes(5_000_000);
    let copy = sent.clone();
    let writer = thread::spawn(move || {
        run(async {
            let mut rest = &copy[..];
            while !rest.is_empty() {
                let count = poll_fn(|c| Pin::new(&mut sender).poll_write(c, rest)).await.unwrap();
                rest = &rest[count..];
            }
        });
        sender.finish()
    });
    let mut all = Vec::new();
    run(async {
        let mut buffer = vec![0; 10_000];
        loop {
            let mut into = ReadBuf::new(&mut buffer);
            poll_fn(|c| Pin::new(&mut receiver).poll_read(c, &mut into)).await.unwrap();
            if into.filled().is_empty() {
                break;
            }
            all.extend_from_slice(into.filled());
        }
    });
    receiver.finish();
    assert!(all == sent);
    assert!(writer.join().unwrap().is_complete());
}
