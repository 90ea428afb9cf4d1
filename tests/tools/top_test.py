"""`ebb top` over a dump, a daemon and a kubectl, plain and on a terminal of 80 columns.

Usage: top_test.py EBB
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

EBB = ""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TIMEOUT_S = 120


class Terminal:
    """ebb on a terminal: reads the last frame, presses keys."""

    def __init__(self, *words, columns=80, rows=24, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        clean = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        self.child = subprocess.Popen([EBB, *map(str, words)], stdin=slave, stdout=slave,
                                      stderr=subprocess.PIPE, env={**clean, **(env or {})})
        self.bytes = b""

    def read_until(self, found):
        """Reads until found(text of the last frame) is true; returns the frame."""
        while True:
            frame = self.frame()
            if found(frame):
                return frame
            if not select.select([self.master], [], [], TIMEOUT_S)[0]:
                raise AssertionError(f"nothing more comes after\n{frame}")
            self.bytes += os.read(self.master, 65536)

    def frame(self):
        text = self.bytes.decode(errors="replace")
        ends = text.rfind("\x1b[J")
        start = text.rfind("\x1b[H", 0, max(ends, 0))
        return ESCAPES.sub("", text[start:ends]) if start >= 0 else ""

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        self.child.wait(TIMEOUT_S)
        while select.select([self.master], [], [], 0)[0]:
            self.bytes += os.read(self.master, 65536)
        after = termios.tcgetattr(self.slave)
        os.close(self.master)
        os.close(self.slave)
        self.child.stderr.close()
        self.child.wait()
        return self.child.returncode, self.bytes.decode(errors="replace"), after == self.before


class TopTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cluster = self.folder / "cluster.json"
        self.generate("company", 60, self.cluster)
        self.prices = self.folder / "prices.yaml"
        self.prices.write_text("currency: USD\ndefault: 0.5\n")

    def generate(self, kind, nodes, path):
        subprocess.run([EBB, "gen", kind, "--nodes", str(nodes), "-o", path], check=True, capture_output=True)

    def ebb(self, *words, code=0, env=None):
        clean = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        ran = subprocess.run([EBB, *map(str, words)], capture_output=True, text=True, check=False,
                             env={**clean, **(env or {})})
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran

    def plan(self, path):
        return json.loads(self.ebb("plan", path, "-o", "json").stdout)["summary"]

    def test_the_plain_frame_has_the_figures_of_the_plan(self):
        out = self.ebb("top", self.cluster, "--prices", self.prices).stdout
        summary = self.plan(self.cluster)
        self.assertNotIn("\x1b", out)
        self.assertIn(f"{summary['removed']} of {summary['nodes']} nodes can go", out)
        self.assertIn(f"{summary['nodes'] * 0.5:.2f} USD/hour", out)
        self.assertIn(f"saved {summary['removed'] * 0.5:.2f}/hour", out)
        for group in (each for each in summary["byGroup"] if each["removed"] > 0):
            self.assertRegex(out, rf"(?m)^{group['group']} .* {group['nodes']} +{group['removed']}  ")
        self.assertIn("AN HOUR", out)
        self.assertNotIn("AN HOUR", self.ebb("top", self.cluster).stdout)

    def test_nodes_are_shown_below_their_group_with_why_they_stay(self):
        out = self.ebb("top", self.cluster, "--show-nodes").stdout
        plan = json.loads(self.ebb("plan", self.cluster, "-o", "json").stdout)
        rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
        for node in plan["remove"]:
            self.assertIn("goes", rows[node["node"]])
        for node in plan["keep"]:
            self.assertIn(node["reason"][:20], rows[node["node"]])

    def test_a_terminal_shows_frames_of_its_size_scrolls_and_is_left_as_it_was(self):
        for columns, rows in ((80, 24), (40, 10), (200, 50)):
            terminal = Terminal("top", self.cluster, "--prices", self.prices, columns=columns, rows=rows)
            first = terminal.read_until(lambda frame: "q quit" in frame)
            terminal.press("n")
            nodes = terminal.read_until(lambda frame: "goes" in frame)
            terminal.press("j")
            below = terminal.read_until(lambda frame: frame not in (first, nodes))
            for frame in (first, nodes, below):
                lines = [line.rstrip("\r") for line in frame.split("\n")]
                self.assertLessEqual(len(lines), rows)
                self.assertLessEqual(max(map(len, lines)), columns, frame)
            terminal.press("q")
            code, text, restored = terminal.end()
            self.assertEqual(code, 0)
            self.assertTrue(restored)
            self.assertTrue(text.endswith("\x1b[?25h\x1b[?1049l"), repr(text[-40:]))

    def test_a_file_that_changes_is_shown_and_one_that_breaks_leaves_the_last_frame(self):
        terminal = Terminal("top", self.cluster)
        terminal.read_until(lambda frame: "of 63 nodes can go" in frame)
        self.generate("company", 90, self.folder / "new.json")
        os.replace(self.folder / "new.json", self.cluster)
        terminal.read_until(lambda frame: "of 93 nodes can go" in frame)
        (self.folder / "broken.json").write_text("{")
        os.replace(self.folder / "broken.json", self.cluster)
        frame = terminal.read_until(lambda frame: "not new: " in frame)
        self.assertIn("of 93 nodes can go", frame)
        terminal.child.terminate()
        code, _, restored = terminal.end()
        self.assertEqual((code, restored), (0, True))

    def test_a_name_cannot_move_the_cursor(self):
        items = [{"apiVersion": "v1", "kind": "Node",
                  "metadata": {"name": f"n{i}", "labels": {"nodegroup": "\x1b[2J\u202eevil" + "x" * 500}},
                  "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"},
                             "conditions": [{"type": "Ready", "status": "True"}]}} for i in range(2)]
        path = self.folder / "hostile.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        out = self.ebb("top", path, "--allow-incomplete").stdout
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\u202e", out)
        self.assertIn("the cluster is incomplete", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)

    def test_the_cluster_of_a_kubeconfig_is_fetched_with_kubectl(self):
        items = json.loads(self.cluster.read_text())["items"]
        lists = {}
        for each in items:
            lists.setdefault(each["kind"].lower(), []).append(each)
        for kind, each in lists.items():
            (self.folder / kind).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": each}))
        (self.folder / "empty").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
        kubectl = self.folder / "kubectl"
        kubectl.write_text(f"""#!/bin/sh
cd '{self.folder}'
[ "$1" = --context=prod ] || exit 1
shift
case "$1" in
  api-resources) printf '%s\\n' nodes pods namespaces poddisruptionbudgets.policy replicasets.apps statefulsets.apps \\
    daemonsets.apps jobs.batch replicationcontrollers ;;
  get) kind=${{2%%.*}}; kind=${{kind%s}}; if [ -f "$kind" ]; then cat "$kind"; else cat empty; fi ;;
esac
""")
        kubectl.chmod(kubectl.stat().st_mode | stat.S_IXUSR)
        temporary = self.folder / "tmp"
        temporary.mkdir()
        out = self.ebb("top", "--kubectl", kubectl, "--context", "prod", "--allow-incomplete",
                       env={"TMPDIR": str(temporary)}).stdout
        self.assertIn("of 63 nodes can go", out)
        self.assertEqual(list(temporary.iterdir()), [], "the dump is not left behind")
        said = self.ebb("top", "--kubectl", self.folder / "missing", code=1).stderr
        self.assertIn("install kubectl", said)

    def test_a_daemon_is_asked(self):
        socket = self.folder / "ebb.sock"
        daemon = subprocess.Popen([EBB, "serve", "--socket", socket], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        try:
            while not socket.exists() and daemon.poll() is None:
                select.select([daemon.stderr], [], [], TIMEOUT_S)
                if not socket.exists():
                    daemon.stderr.readline()
            server = ("--server", f"unix:{socket}")
            self.ebb("plan", self.cluster, *server)
            self.assertIn("of 63 nodes can go", self.ebb("top", *server).stdout)
            terminal = Terminal("top", *server, "--interval", "10ms")
            terminal.read_until(lambda frame: "of 63 nodes can go" in frame)
            self.generate("company", 90, self.folder / "new.json")
            self.ebb("plan", self.folder / "new.json", *server)
            terminal.read_until(lambda frame: "of 93 nodes can go" in frame)
            terminal.press("q")
            self.assertEqual(terminal.end()[0], 0)
        finally:
            daemon.terminate()
            daemon.communicate()


if __name__ == "__main__":
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
