"""python3 -m unittest discover tools"""

import json
import pathlib
import tempfile
import unittest
import xml.dom.minidom

import terminal

IMAGES = pathlib.Path(__file__).parent.parent / "docs" / "images"


def cast(*events):
    file = tempfile.NamedTemporaryFile("w", suffix=".cast", delete=False, encoding="utf-8")
    print(json.dumps({"version": 2, "width": 10, "height": 3}), file=file)
    for event in events:
        print(json.dumps(event), file=file)
    file.close()
    return file.name


class Terminal(unittest.TestCase):
    def shown(self, text, rows=3):
        screen = terminal.Screen(10, rows)
        screen.write(text)
        return screen.shown()

    def test_a_carriage_return_and_an_erased_line_leave_what_follows(self):
        self.assertEqual(self.shown("one\r\x1b[2Ktwo\r\n"), ["two", ""])
        self.assertEqual(self.shown("abc\rX"), ["Xbc"])

    def test_a_long_line_goes_on_in_the_next_row(self):
        self.assertEqual(self.shown("0123456789ab"), ["0123456789", "ab"])

    def test_the_cursor_goes_up_to_a_row_that_was_written(self):
        self.assertEqual(self.shown("a\r\nb\r\n\x1b[2Ac"), ["c", "b", ""])

    def test_only_the_last_rows_are_on_the_screen(self):
        self.assertEqual(self.shown("1\r\n2\r\n3\r\n4"), ["2", "3", "4"])

    def test_a_pause_is_cut_and_pictures_that_follow_too_fast_are_one(self):
        path = cast([0.0, "o", "a"], [100.0, "o", "b"], [100.05, "o", "c"])
        _, found = terminal.pictures(path)
        self.assertEqual(found, [(0.0, ["a"]), (terminal.LONGEST_PAUSE, ["abc"])])

    def test_the_picture_in_the_readme_is_drawn_from_its_recording(self):
        svg = (IMAGES / "transfer.svg").read_text(encoding="utf-8")
        title = xml.dom.minidom.parseString(svg).getElementsByTagName("title")[0]
        drawn = terminal.draw(IMAGES / "transfer.cast", title.firstChild.data)
        self.assertEqual(drawn, svg)


if __name__ == "__main__":
    unittest.main()
