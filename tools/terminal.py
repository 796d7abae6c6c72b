#!/usr/bin/env python3
"""Record a terminal session, and draw it as an SVG that plays.

    tools/terminal.py record docs/images/transfer.cast -- docs/images/transfer.sh
    tools/terminal.py draw docs/images/transfer.cast docs/images/transfer.svg

A recording is in the asciicast format, version 2: a line of JSON with the size, then a line
[seconds, "o", text] for each piece of output. Only the escape sequences that `fanfare` prints are
understood. The SVG needs no script: where animations are off it shows the last picture.
"""

import argparse
import html
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time
import fcntl

COLUMNS, ROWS = 118, 24
# A pause in the recording is never shown for longer than this, in seconds.
LONGEST_PAUSE = 1.5
# Pictures per second: a bar moves five times a second.
RATE = 5
# How long the last picture stays before it begins again.
REST = 8.0
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 14
ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Screen:
    """Rows of text, as a terminal shows them."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.row, self.column = [""], 0, 0

    def write(self, text):
        at = 0
        while at < len(text):
            found = ESCAPE.match(text, at)
            if found:
                self.escape(found[1], found[2])
                at = found.end()
            else:
                self.character(text[at])
                at += 1

    def escape(self, numbers, letter):
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "K":
            whole = numbers == "2"
            self.lines[self.row] = "" if whole else self.lines[self.row][: self.column]
        elif letter == "A":
            self.row = max(0, self.row - count)
        elif letter == "B":
            self.down(count)

    def character(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.down(1)
        elif letter >= " ":
            if self.column >= self.columns:
                self.column = 0
                self.down(1)
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
            self.column += 1

    def down(self, count):
        self.row += count
        while len(self.lines) <= self.row:
            self.lines.append("")

    def shown(self):
        return [line.rstrip() for line in self.lines[-self.rows :]]


def record(path, command):
    """Run a command on a terminal of its own, and write down what it prints and when."""
    start, child = time.monotonic(), pty.fork()
    if child[0] == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(child[1], termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with open(path, "w", encoding="utf-8") as out:
        print(json.dumps({"version": 2, "width": COLUMNS, "height": ROWS}), file=out)
        held = b""
        while True:
            select.select([child[1]], [], [])
            try:
                piece = os.read(child[1], 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            held += piece
            # A letter of several bytes may have come in part.
            text = held.decode("utf-8", errors="ignore")
            held = held[len(text.encode("utf-8")) :]
            event = [round(time.monotonic() - start, 3), "o", text]
            print(json.dumps(event, ensure_ascii=False), file=out)
    return os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1])


def pictures(path):
    """What the screen shows, and since when: (seconds, rows)."""
    with open(path, encoding="utf-8") as file:
        size = json.loads(file.readline())
        events = [json.loads(line) for line in file]
    screen, now, before, found = Screen(size["width"], size["height"]), 0.0, 0.0, []
    for at, _, text in events:
        now += min(at - before, LONGEST_PAUSE)
        before = at
        screen.write(text)
        rows = screen.shown()
        if found and now - found[-1][0] < 1 / RATE:
            found[-1] = (found[-1][0], rows)
        elif not found or found[-1][1] != rows:
            found.append((now, rows))
    return size, found


def spans(row):
    """The row, with its prompt and its good and bad words in colours."""
    text = html.escape(row)
    text = re.sub(r"^(\$ )(.*)$", r'<tspan class="p">\1</tspan><tspan class="c">\2</tspan>', text)
    text = re.sub(r"\b(complete)\b(?=  )", r'<tspan class="g">\1</tspan>', text)
    return re.sub(r"([█░]+)", r'<tspan class="g">\1</tspan>', text)


def draw(path, title):
    """The SVG: each row is drawn once, and shown for as long as it is the same."""
    size, found = pictures(path)
    end = found[-1][0] + REST
    shown = {}  # (row number, text) -> [(from, to)]
    for index, (begin, rows) in enumerate(found):
        until = found[index + 1][0] if index + 1 < len(found) else end
        for number, row in enumerate(rows):
            times = shown.setdefault((number, row), [])
            if times and times[-1][1] == begin:
                times[-1] = (times[-1][0], until)
            else:
                times.append((begin, until))
    height = max(len(rows) for _, rows in found)
    width_px = round(size["width"] * CELL_WIDTH + 2 * MARGIN)
    height_px = round(height * CELL_HEIGHT + 2 * MARGIN)
    styles, texts = [], []
    for (number, row), times in sorted(shown.items()):
        if not row:
            continue
        y = round(MARGIN + (number + 0.75) * CELL_HEIGHT)
        last = times[-1][1] >= end
        if times == [(0.0, end)]:
            name = ""
        else:
            name = f"r{len(styles)}"
            styles.append(keyframes(name, times, end, last))
        texts.append(
            f'<text class="{name}" x="{MARGIN}" y="{y}" xml:space="preserve">{spans(row)}</text>'
        )
    return TEMPLATE.format(
        width=width_px,
        height=height_px,
        title=html.escape(title),
        styles="\n".join(styles),
        texts="\n".join(texts),
    )


def keyframes(name, times, end, last):
    """A row is hidden but for its times; without animation only the last picture is shown."""
    steps = ["0%{opacity:0}"] if times[0][0] > 0 else []
    for begin, until in times:
        steps.append(f"{100 * begin / end:.2f}%{{opacity:1}}")
        if until < end:
            steps.append(f"{100 * until / end:.2f}%{{opacity:0}}")
    return (
        f".{name}{{opacity:{int(last)};animation:{name} {end:.2f}s step-end infinite}}"
        f"@keyframes {name}{{{''.join(steps)}}}"
    )


TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" role="img">
<title>{title}</title>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb}}
.p{{fill:#7f8ea3}}.c{{fill:#ffffff;font-weight:bold}}.g{{fill:#7fd88f}}
{styles}
@media (prefers-reduced-motion:reduce){{text{{animation:none!important}}}}
</style>
<rect width="100%" height="100%" rx="8" fill="#10151f"/>
{texts}
</svg>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    recording = commands.add_parser("record", help="run a command and write its output down")
    recording.add_argument("cast")
    recording.add_argument("command", nargs="+")
    drawing = commands.add_parser("draw", help="draw a recording as SVG")
    drawing.add_argument("cast")
    drawing.add_argument("svg")
    drawing.add_argument("--title", default="A recorded terminal session")
    given = parser.parse_args()
    if given.what == "record":
        return record(given.cast, given.command)
    with open(given.svg, "w", encoding="utf-8") as out:
        out.write(draw(given.cast, given.title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
