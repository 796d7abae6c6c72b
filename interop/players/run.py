#!/usr/bin/env python3
"""Video in real players while its rendition changes and its sender is restarted.

    run.py PATH_TO_FANFARE [--changes N] [--restarts N] [--players NAME,NAME] [--short]
           [--modules FOLDER] [--keep FOLDER] [--write FILE]

A sender and a viewer's node are hosts of their own, as network namespaces. The line between them
becomes narrow and wide again, so that the node takes another rendition; now and then the sender is
killed or told to end, and started anew. A player passes when it says nothing of damage, never goes
back, and still plays at the end. Players that are not here are named and left out. `--modules`
names a folder in which npm has installed shaka-player and dashjs. Needs root, for namespaces.

Exit codes: 0 all passed, 1 one did not, 2 it could not be tried: the machine was too busy.
"""

import argparse
import ctypes
import datetime
import functools
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

#: A network namespace (setns(2)).
CLONE_NEWNET = 0x40000000
RUN = os.getpid()
SENDER, VIEWER = f"ps{RUN}", f"pv{RUN}"
#: Between these two, with a few kbit/s for what nodes say to each other.
RENDITIONS, NARROW = "64k,200k", "150kbit"
BASE = "http://127.0.0.1:8080/gate"
#: Where the pages for Shaka and dash.js are.
PAGES = 8090
#: Seconds that a change of rendition, a first segment, or a new life may take on a busy machine.
PATIENCE = 240
#: A player goes on within so many seconds after the last change; a live one has a few to catch up.
SETTLE = 25
#: What players say when pictures are damaged or files are not understood.
DAMAGE = re.compile(
    r"error while decoding|unavailable for requested|decode_slice|non-existing PPS|cabac"
    r"|Invalid data|corrupt|non monoton|Failed to create demuxer|concealing"
    r"|ERROR.*from element|Error decoding|missing picture", re.I)


def sh(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class NotTried(Exception):
    """The stage was not what was wanted; nothing is known of the players."""


class Net:
    """Two hosts on one line, which can be made narrow."""

    def __enter__(self):
        for name in (SENDER, VIEWER):
            sh("ip", "netns", "add", name)
            sh("ip", "-n", name, "link", "set", "lo", "up")
        sh("ip", "-n", SENDER, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
           "netns", VIEWER)
        for n, name in enumerate((SENDER, VIEWER), 1):
            sh("ip", "-n", name, "addr", "add", f"10.91.0.{n}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            sh("ip", "-n", name, "route", "add", "224.0.0.0/4", "dev", "eth0")
        return self

    def __exit__(self, *_):
        for name in (SENDER, VIEWER):
            subprocess.run(["ip", "netns", "del", name], check=False)

    def narrow(self):
        sh("tc", "-n", SENDER, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", NARROW,
           "burst", "8kb", "latency", "300ms")

    def wide(self):
        sh("tc", "-n", SENDER, "qdisc", "del", "dev", "eth0", "root")


def inside(function):
    """What is done in the viewer's namespace, by a thread that stays there."""
    with open(f"/run/netns/{VIEWER}") as space:
        # Python has a call of its own from 3.12 on.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(space.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    return function()


def in_viewer(function):
    """Calls a function in the viewer's namespace and gives what it gave, or its error."""
    got = []

    def work():
        try:
            got.append((inside(function), None))
        except OSError as error:
            got.append((None, error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    value, error = got[0]
    if error:
        raise error
    return value


def fetch(path):
    try:
        return in_viewer(lambda: urllib.request.urlopen(f"{BASE}/{path}", timeout=5).read().decode())
    except OSError:
        return ""


class Program:
    """A program on one of the two hosts; what it says is in a file."""

    def __init__(self, host, words, log, user=None):
        self.log = log
        if user:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]
        with open(log, "ab") as out:
            self.process = subprocess.Popen(["ip", "netns", "exec", host, *words], stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL)

    def said(self):
        with open(self.log, errors="replace") as text:
            return text.read()

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Player:
    """One that plays for the whole run. `positions` are seconds, in the order in which it told them."""

    #: Program that has to be here.
    needs = ""
    #: Its clock begins anew with each life of the sender, as the files' does.
    begins_anew = False

    def __init__(self, place):
        self.place, self.program = place, None

    def start(self):
        self.program = Program(VIEWER, self.words(), os.path.join(self.place, f"{self.name}.log"),
                               self.user())

    def user(self):
        return None

    def look(self):
        """Called a few times a second."""

    def damage(self):
        return [line for line in self.program.said().splitlines() if DAMAGE.search(line)]

    def end(self):
        self.program.end()


class Ffmpeg(Player):
    name, needs = "ffmpeg, HLS", "ffmpeg"

    def start(self):
        self.frames = os.path.join(self.place, "frames")
        super().start()

    def words(self):
        return ["ffmpeg", "-nostdin", "-hide_banner", "-v", "warning", "-y", "-i",
                f"{BASE}/index.m3u8", "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framecrc", "-flush_packets", "1",
                self.frames]

    def positions(self):
        found, base = [], 0.04
        if not os.path.exists(self.frames):
            return found
        with open(self.frames) as lines:
            for line in lines:
                if line.startswith("#tb 0:"):
                    up, down = line.split()[2].split("/")
                    base = int(up) / int(down)
                parts = line.split(",")
                if len(parts) > 4 and line.endswith("\n"):
                    found.append(int(parts[2]) * base)
        return found


class Mpv(Player):
    name, needs, begins_anew = "mpv, HLS", "mpv", True

    def words(self):
        return ["mpv", "--no-config", "--vo=null", "--ao=null", "--no-input-terminal",
                "--msg-level=all=warn,statusline=status", "--term-status-msg=AT ${=time-pos}\n",
                f"{BASE}/index.m3u8"]

    def positions(self):
        return [float(at) for at in re.findall(r"AT ([0-9.]+)", self.program.said())]


class GStreamer(Player):
    name, needs = "GStreamer, HLS", "gst-launch-1.0"

    def words(self):
        # What a picture has as its time runs on; a change of the file's begin is no step back.
        return ["env", "GST_DEBUG=1", "gst-launch-1.0", "-v", "playbin3",
                f"uri={BASE}/index.m3u8", "audio-sink=fakesink sync=true",
                "video-sink=progressreport update-freq=1 silent=false format=time"
                " ! fakesink sync=true"]

    def positions(self):
        hours = re.findall(r"progressreport.*?: (\d+) (?:/|seconds)", self.program.said())
        return [float(at) for at in hours]


class Vlc(Player):
    name, needs = "VLC, HLS (plain.m3u8)", "cvlc"

    def user(self):
        return 65534

    def words(self):
        home = os.path.join(self.place, "vlc")
        os.makedirs(home, exist_ok=True)
        os.chmod(self.place, 0o777)
        os.chmod(home, 0o777)
        return ["env", f"HOME={home}", "cvlc", "-I", "dummy", "-vv", "--no-color", "--vout", "dummy",
                "--aout", "dummy", f"{BASE}/plain.m3u8"]

    def positions(self):
        """Numbers of the segments that it took, as they came."""
        found = re.findall(r"Retrieving \S*?(\d+)/(?:whole-)?(\d+)\.m4s", self.program.said())
        lives = {}
        return [lives.setdefault(life, len(lives)) * 1e6 + int(number) for life, number in found]


class Page(Player):
    """A page in headless Chromium; it is asked where it is."""

    needs = "chromium"

    def start(self):
        self.told, self.errors, self.count = [], [], 0
        ours = [os.pipe(), os.pipe()]
        user = os.path.join(self.place, re.sub(r"\W", "", self.name))
        words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--autoplay-policy=no-user-gesture-required", "--no-proxy-server",
                 "--remote-debugging-pipe", f"--user-data-dir={user}"]
        there = (ours[0][0], ours[1][1])

        def prepare():
            # Its commands are at 3, its answers at 4; both ends here may have these numbers.
            low, high = os.dup2(there[0], 103), os.dup2(there[1], 104)
            os.dup2(low, 3)
            os.dup2(high, 4)

        log = open(os.path.join(self.place, f"{re.sub(chr(92) + 'W', '', self.name)}.log"), "ab")
        self.process = subprocess.Popen(["ip", "netns", "exec", VIEWER, *words], stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, preexec_fn=prepare, close_fds=False)
        os.close(there[0])
        os.close(there[1])
        self.commands, self.answers, self.rest = ours[0][1], ours[1][0], b""
        self.session = None
        target = self.call("Target.createTarget", url=self.address)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.answers, 65536)
                if not more:
                    raise OSError("the browser has ended")
                self.rest += more
            one, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.count:
                return answer.get("result", {})

    def look(self):
        code = ("(() => { const v = document.querySelector('video');"
                " return [v ? v.currentTime : 0, v && v.error ? v.error.message : '', window.told || []]; })()")
        got = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        value = got.get("result", {}).get("value")
        if value:
            self.told.append(float(value[0]))
            self.errors = [said for said in [value[1], *value[2]] if said]

    def positions(self):
        return self.told

    def damage(self):
        return self.errors

    def end(self):
        self.process.kill()
        self.process.wait()


class HlsJs(Page):
    name, address = "hls.js (the node's page), Chromium", "http://127.0.0.1:8080/"


class Shaka(Page):
    name, address = "Shaka, DASH, Chromium", f"http://127.0.0.1:{PAGES}/shaka.html"
    module = "shaka-player/dist/shaka-player.compiled.js"
    html = """<video muted autoplay></video><script src=/node_modules/MODULE></script><script>
window.told=[];const v=document.querySelector('video');shaka.polyfill.installAll();
const p=new shaka.Player();p.addEventListener('error',e=>{if(e.detail.severity>1)told.push('error '+e.detail.code)});
p.attach(v).then(()=>p.load('BASE/manifest.mpd')).then(()=>v.play()).catch(e=>told.push('error '+e.code));</script>"""


class DashJs(Page):
    name, address = "dash.js, DASH, Chromium", f"http://127.0.0.1:{PAGES}/dashjs.html"
    module = "dashjs/dist/dash.all.min.js"
    html = """<video muted autoplay></video><script src=/node_modules/MODULE></script><script>
window.told=[];const v=document.querySelector('video');const p=dashjs.MediaPlayer().create();
p.updateSettings({streaming:{utcSynchronization:{enabled:false}}});p.on('error',e=>told.push('error '+(e.error&&e.error.message||e.error)));
p.initialize(v,'BASE/manifest.mpd',true);</script>"""


PLAYERS = {"ffmpeg": Ffmpeg, "mpv": Mpv, "gstreamer": GStreamer, "vlc": Vlc, "hlsjs": HlsJs,
           "shaka": Shaka, "dashjs": DashJs}
SHORT = ["ffmpeg", "hlsjs"]


def serve_pages(folder, modules):
    """The pages of Shaka and dash.js, on the viewer's host."""
    for name in ("shaka", "dashjs"):
        player = PLAYERS[name]
        text = player.html.replace("MODULE", player.module).replace("BASE", BASE)
        with open(os.path.join(folder, f"{name}.html"), "w") as page:
            page.write("<!doctype html>" + text)
    os.symlink(os.path.join(modules, "node_modules"), os.path.join(folder, "node_modules"))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    server = in_viewer(lambda: http.server.ThreadingHTTPServer(("127.0.0.1", PAGES), handler))
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Stage:
    """Sender, node, and the players on it."""

    def __init__(self, program, place, net, players):
        self.program, self.place, self.net, self.players = program, place, net, players
        self.faults = []
        self.node = Program(VIEWER, [program, "video", "serve", "--interface", "eth0", "--json",
                                     "--allow-origin", "*"], os.path.join(place, "node.log"))
        self.lives = 0
        self.start_sender()

    def start_sender(self):
        self.lives += 1
        words = [self.program, "video", "send", "test", "--name", "gate", "--renditions", RENDITIONS,
                 "--interface", "eth0", "--json"]
        self.sender = Program(SENDER, words, os.path.join(self.place, f"sender{self.lives}.log"))

    def watch(self, seconds, until=lambda: False):
        """Looks at all players until it is so, or the time is over. Whether it is so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for player in self.players:
                player.look()
            if until():
                return True
            time.sleep(0.3)
        return False

    def newest(self):
        """Rendition of the newest segment of the list, and how many lives the list tells of."""
        names = [line for line in fetch("live.m3u8").splitlines() if line.endswith(".m4s")]
        return names[-1].split("/")[:2] if names else ["", ""]

    def change(self, to):
        self.net.narrow() if to == "64k" else self.net.wide()
        if not self.watch(PATIENCE, lambda: self.newest()[0] == to):
            raise NotTried(f"the rendition did not become {to} within {PATIENCE} s")
        self.watch(4)

    def restart(self):
        life = self.newest()[1]
        self.sender.end(signal.SIGKILL if self.lives % 2 else signal.SIGINT)
        # What its encoder wrote last is not waited for.
        self.watch(3)
        self.start_sender()
        if not self.watch(PATIENCE, lambda: self.newest()[1] not in ("", life)):
            raise NotTried(f"a sender that was started anew gave nothing in {PATIENCE} s")

    def end(self):
        for one in [*self.players, self.sender, self.node]:
            one.end()


def judge(player, before, restarts):
    """What was wrong with it; empty if nothing was."""
    wrong = []
    damage = player.damage()
    if damage:
        wrong.append(f"{len(damage)} words of damage, such as: {damage[0].strip()[:120]}")
    positions = player.positions()
    # A picture's time may be told twice.
    back = sum(later < earlier - 0.001 for earlier, later in zip(positions, positions[1:]))
    if back > (restarts if player.begins_anew else 0):
        wrong.append(f"{back} steps back")
    if len(positions) <= before:
        wrong.append("stood still at the end")
    elif positions[-1] <= positions[max(before - 1, 0)]:
        wrong.append("stood still at the end")
    return wrong


def run(args, place):
    names = args.players.split(",") if args.players else SHORT if args.short else list(PLAYERS)
    chosen, absent = [], []
    for name in names:
        kind = PLAYERS[name]
        has = shutil.which(kind.needs) and (
            not hasattr(kind, "module")
            or args.modules and os.path.exists(os.path.join(args.modules, "node_modules", kind.module)))
        (chosen if has else absent).append(kind)
    for kind in absent:
        print(f"SKIPPED: {kind.name}: not installed", flush=True)
    players = [kind(place) for kind in chosen]
    with Net() as net:
        stage = Stage(os.path.abspath(args.program), place, net, players_started := [])
        try:
            if args.modules:
                folder = os.path.join(place, "pages")
                os.mkdir(folder)
                serve_pages(folder, os.path.abspath(args.modules))
            if not stage.watch(PATIENCE, lambda: stage.newest()[0] == "200k"):
                raise NotTried(f"no segment of 200k within {PATIENCE} s")
            for player in players:
                player.start()
                players_started.append(player)
            stage.watch(10)
            begun, done = time.monotonic(), 0
            every = max(1, args.changes // (args.restarts + 1))
            while done < args.changes:
                stage.change("64k" if done % 2 == 0 else "200k")
                done += 1
                print(f"change {done} of {args.changes}, {time.monotonic() - begun:.0f} s", flush=True)
                if done % every == 0 and stage.lives <= args.restarts:
                    stage.restart()
                    print(f"restart {stage.lives - 1} of {args.restarts}", flush=True)
            before = [len(player.positions()) for player in players]
            stage.watch(SETTLE)
            rows = [(player.name, judge(player, count, stage.lives - 1), len(player.positions()))
                    for player, count in zip(players, before)]
            return rows, time.monotonic() - begun
        finally:
            stage.end()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--players")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--modules")
    parser.add_argument("--keep")
    parser.add_argument("--write")
    args = parser.parse_args()
    if args.short:
        args.changes, args.restarts = 1, 1
    place = args.keep or tempfile.mkdtemp(prefix="fanfare-players-")
    os.makedirs(place, exist_ok=True)
    try:
        rows, seconds = run(args, place)
    except NotTried as why:
        print(f"not tried: {why}")
        return 2
    finally:
        if not args.keep:
            shutil.rmtree(place, ignore_errors=True)
    for name, wrong, count in rows:
        print(f"{'FAIL' if wrong else 'pass'}  {name}: {'; '.join(wrong) or f'{count} positions, none back'}")
    if args.write:
        with open(args.write, "w") as page:
            page.write(table(args, rows, seconds))
    return 1 if any(wrong for _, wrong, _ in rows) else 0


def table(args, rows, seconds):
    day = datetime.date.today().isoformat()
    text = ("# Players over changes of rendition and restarts of the sender\n\n"
            f"Written by `interop/players/run.py --changes {args.changes} --restarts {args.restarts}` on {day}.\n"
            f"All players play at the same time, for {seconds:.0f} s. The line is narrow and wide by turns.\n"
            "A player passes when it says nothing of damage, never goes back, and plays at the end.\n\n"
            "| player | result |\n|---|---|\n")
    for name, wrong, count in rows:
        text += f"| {name} | {'**' + '; '.join(wrong) + '**' if wrong else f'passed, {count} positions'} |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
