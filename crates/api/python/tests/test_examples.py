"""Runs the examples as a person would, on the loopback interface."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_fanfare import group

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


class Running:
    """An example that runs, ended with the test."""

    def __init__(self, test, name, *words):
        command = [sys.executable, EXAMPLES / f"{name}.py", *map(str, words)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.test = test
        test.addCleanup(self.kill)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def until(self, wanted):
        while line := self.process.stdout.readline():
            if line.rstrip("\n") == wanted:
                return
        self.test.fail(f"it ended without saying {wanted!r}")

    def end(self):
        """Its input ends; what else it says, and that it ends well."""
        said, _ = self.process.communicate(timeout=60)
        self.test.assertEqual(self.process.returncode, 0, said)
        return said


class Examples(unittest.TestCase):
    def test_file_to_many_says_who_has_the_file(self):
        where = group()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.bin")
            with open(path, "wb") as file:
                file.write(b"\7" * 300_000)
            receivers = []
            for name in ("anna", "bert"):
                inbox = os.path.join(folder, name)
                receivers.append(Running(self, "file_to_many", "recv", where, inbox, name))
                receivers[-1].until("ready")
            said = Running(self, "file_to_many", "send", where, "anna,bert", path).end()
            self.assertIn("anna has data.bin after ", said)
            self.assertTrue(said.endswith("2 of 2 have everything\n"), said)
            for receiver, name in zip(receivers, ("anna", "bert")):
                self.assertEqual(receiver.end(), "data.bin: 300000 bytes\n")
                with open(os.path.join(folder, name, "data.bin"), "rb") as file:
                    self.assertEqual(file.read(), b"\7" * 300_000)

    def test_feed_prints_what_is_said_from_now_on(self):
        where = group()
        receiver = Running(self, "feed", "recv", where)
        receiver.until("ready")
        sender = Running(self, "feed", "send", where)
        sender.say("one\ntwo\n")
        receiver.until("two")
        sender.say("three\n")
        receiver.until("three")
        sender.end()
        receiver.end()

    def test_chat_carries_lines_both_ways(self):
        where = group()
        anna, bert = (Running(self, "chat", where, name) for name in ("anna", "bert"))
        anna.say("hello\n")
        bert.until("anna: hello")
        bert.say("good evening\n")
        anna.until("bert: good evening")
        bert.end()
        anna.end()

    def test_tensors_reaches_three_workers_whole(self):
        where = group()
        workers = [Running(self, "tensors", "work", where, name) for name in "abc"]
        for worker in workers:
            worker.until("ready")
        said = Running(self, "tensors", "send", where, 3, 40).end()
        self.assertEqual(said, "3 workers have everything\n")
        wanted = sum((step + i) % 1000 for step in range(40) for i in range(6400))
        for worker in workers:
            self.assertEqual(worker.end(), f"40 tensors, sum {wanted}\n")


if __name__ == "__main__":
    unittest.main()
