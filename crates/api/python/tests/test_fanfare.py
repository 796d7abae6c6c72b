"""The package from a program's side."""

import array
import asyncio
import inspect
import os
import signal
import socket
import threading
import time
import unittest

import fanfare
from fanfare import _fanfare, aio


def group():
    """A group on the loopback interface, on a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"norm://lo;239.255.42.7:{probe.getsockname()[1]}"


class Signatures(unittest.TestCase):
    def test_every_option_of_the_library_is_a_keyword_argument_and_no_other(self):
        for purpose, function in [
            ("send-files", fanfare.send_files),
            ("receive-files", fanfare.receive_files),
            ("send-stream", fanfare.StreamWriter.__init__),
            ("receive-stream", fanfare.StreamReader.__init__),
            ("join", fanfare.Group.__init__),
            ("publish", fanfare.Group.publish),
            ("publish", fanfare.Group.publisher),
            ("subscribe", fanfare.Group.subscribe),
        ]:
            parameters = inspect.signature(function).parameters.values()
            named = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
            self.assertEqual(named, set(_fanfare.option_names(purpose)), purpose)

    def test_the_stubs_name_what_the_module_has(self):
        stubs = os.path.join(os.path.dirname(fanfare.__file__), "_fanfare.pyi")
        with open(stubs, encoding="utf-8") as file:
            text = file.read()
        for name in dir(_fanfare):
            if name.startswith("_"):
                continue
            self.assertIn(name, text)
            kind = getattr(_fanfare, name)
            for method in vars(kind) if isinstance(kind, type) else ():
                if not method.startswith("_"):
                    self.assertIn(f"def {method}(", text, name)


class Mistakes(unittest.TestCase):
    def test_a_mistake_is_a_value_error_in_words(self):
        with self.assertRaisesRegex(ValueError, r"rate \(fast\)"):
            fanfare.Group(group(), rate="fast")
        with self.assertRaisesRegex(ValueError, r"repair-rate \(fast\)"):
            fanfare.Group(group(), repair_rate="fast")
        with self.assertRaisesRegex(ValueError, "/no/such/file"):
            fanfare.send_files(group(), "/no/such/file")
        with self.assertRaisesRegex(ValueError, "nowhere"):
            fanfare.StreamReader("nowhere")
        with self.assertRaisesRegex(ValueError, "nobody is asked"):
            fanfare.StreamWriter(group(), policy="lossless")
        with self.assertRaises(TypeError):
            fanfare.Group(group(), speed=1)

    def test_what_the_machine_refuses_is_an_error_of_the_package(self):
        with self.assertRaisesRegex(fanfare.Error, "no-such-if"):
            fanfare.StreamReader("norm://no-such-if;239.255.42.7:17000")

    def test_what_has_ended_says_so(self):
        member = fanfare.Group(group())
        member.leave()
        with self.assertRaises(fanfare.Ended):
            member.publish("a", b"x")
        with self.assertRaises(fanfare.Ended):
            member.next()
        self.assertEqual(list(member), [])

    def test_nothing_in_time_is_a_timeout(self):
        with fanfare.Group(group()) as member:
            with self.assertRaises(TimeoutError):
                member.next(timeout=0.01)
        with fanfare.StreamReader(group()) as reader:
            with self.assertRaises(TimeoutError):
                reader.read_message(timeout=0.01)

    def test_ctrl_c_ends_a_wait(self):
        # A shell that starts this in the background has it ignore Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)

        with fanfare.Group(group()) as member:
            timer = threading.Timer(0.3, interrupt)
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                member.next()
            timer.join()


class Streams(unittest.TestCase):
    def test_a_stream_is_a_file_on_both_sides(self):
        where, got = group(), []
        reader = fanfare.StreamReader(where, name="r")

        def read():
            got.append(reader.read())
            reader.finish()

        thread = threading.Thread(target=read)
        thread.start()
        with fanfare.StreamWriter(where, expect="r") as writer:
            self.assertEqual(writer.write(b"some bytes, "), 12)
            writer.write(array.array("B", b"and some more"))
            report = writer.finish()
        thread.join()
        self.assertTrue(report.complete)
        self.assertEqual(got, [b"some bytes, and some more"])

    def test_lost_bytes_are_a_gap_with_its_range(self):
        gap = fanfare.Gap("stream: bytes 5 to 9 are lost", 5, 9)
        self.assertEqual((gap.start, gap.end), (5, 9))
        self.assertIsInstance(gap, fanfare.Error)
        where, gaps, length = group(), [], []
        # Of what is received a third is lost, and what is late is given up.
        reader = fanfare.StreamReader(where, loss=0.3, lifetime="20ms")

        def read():
            total = 0
            while True:
                try:
                    found = reader.read_chunk()
                except fanfare.Gap as gap:
                    gaps.append(gap)
                    continue
                except fanfare.Error:
                    break
                if not found:
                    break
                total += len(found)
            length.append(total)

        thread = threading.Thread(target=read)
        thread.start()
        with fanfare.StreamWriter(where, policy="live", lifetime="10ms", rate="40M") as writer:
            for _ in range(400):
                writer.write(b"x" * 1000)
                time.sleep(0.001)
            writer.finish()
        reader.stop()
        thread.join()
        self.assertTrue(gaps)
        self.assertTrue(all(gap.start < gap.end for gap in gaps))
        self.assertGreater(length[0], 0)

    def test_who_forgets_a_stream_does_not_wait_for_its_receivers(self):
        began = time.monotonic()
        writer = fanfare.StreamWriter(group(), expect=3, wait=60)
        del writer
        self.assertLess(time.monotonic() - began, 30)


class Groups(unittest.TestCase):
    def test_receipts_name_the_members_that_have_a_message(self):
        where = group()
        with fanfare.Group(where) as anna, fanfare.Group(where) as bert:
            bert.subscribe("news/#")
            number = anna.publish("news/today", "rain".encode(), receipts=True)
            message = next(one for one in bert if one.kind == "message")
            self.assertEqual((message.topic, message.data), ("news/today", b"rain"))
            self.assertEqual(message.node, anna.node)
            limit = time.monotonic() + 30
            while time.monotonic() < limit:
                holds = [
                    node
                    for fate in anna.receipts()
                    if fate.message == number
                    for node, how in fate.standings
                    if how == "holds"
                ]
                if holds:
                    break
                time.sleep(0.02)
            self.assertEqual(holds, [bert.node])

    def test_many_messages_of_a_publisher_arrive_in_order(self):
        where = group()
        with fanfare.Group(where) as anna, fanfare.Group(where) as bert:
            bert.subscribe("a", ordering="source")
            publisher = anna.publisher("a")
            for number in range(500):
                publisher.send(str(number).encode())
            publisher.flush()
            got = []
            for message in bert:
                if message.kind == "message":
                    got.append(int(message.data))
                if len(got) == 500:
                    break
            self.assertEqual(got, list(range(500)))


class Asyncio(unittest.TestCase):
    def test_a_task_that_is_cancelled_while_it_waits_loses_no_message(self):
        async def run():
            where = group()
            async with aio.Group(where) as anna, aio.Group(where) as bert:
                await bert.subscribe("a", ordering="source")

                async def message():
                    while True:
                        found = await bert.next()
                        if found.kind == "message":
                            return found.data

                got = []
                for number in range(5):
                    waiting = asyncio.create_task(message())
                    await asyncio.sleep(0.02)
                    if waiting.done():
                        got.append(waiting.result())
                    waiting.cancel()
                    await anna.publish("a", str(number).encode())
                while len(got) < 5:
                    got.append(await asyncio.wait_for(message(), 30))
                return got

        self.assertEqual(asyncio.run(run()), [b"0", b"1", b"2", b"3", b"4"])

    def test_a_stream_of_messages_reaches_two_tasks(self):
        async def read(where, name):
            async with aio.StreamReader(where, name=name) as reader:
                got = [message.data async for message in reader.messages()]
                report = await reader.finish()
                return got, report.complete

        async def run():
            where = group()
            readers = [asyncio.create_task(read(where, name)) for name in ("a", "b")]
            await asyncio.sleep(0.1)
            async with aio.StreamWriter(where, expect=["a", "b"], framing="varint") as writer:
                for number in range(20):
                    await writer.write_message(str(number).encode())
                report = await writer.finish()
            return report.complete, await asyncio.gather(*readers)

        complete, found = asyncio.run(run())
        self.assertTrue(complete)
        wanted = [str(number).encode() for number in range(20)]
        self.assertEqual(found, [(wanted, True), (wanted, True)])


if __name__ == "__main__":
    unittest.main()
