#!/usr/bin/env python3
"""Attacks ebb with damaged, odd and hostile inputs, and with disks that fail.

    attack.py EBB [INPUTS] [--seed S]     INPUTS: how many (default 10,000)
    attack.py EBB --self-test             the attack must notice a wrong ebb

What must hold for every input:
  - the exit code is 0, 1, 2, 10 (something can go, --exit-code) or 11 (--fail-if); no signal, no sanitizer report;
  - an answer comes within 10 seconds;
  - an exit with 1 or 2 gives the reason, in a few lines of printable text;
  - an output file is either the old one or the whole new one, and after exit code 0 it is the new one.

The same seed makes the same inputs.  At the end the attack prints counts by class.  If anything above did
not hold, it keeps and names the inputs that caused it, and exits with 1.
"""

import argparse
import collections
import concurrent.futures
import copy
import gzip
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 10
LINES_MAX = 40  # On stderr; each ignored kind and each warning may have its line.
SANITIZER = (b"Sanitizer", b"runtime error:", b"check failed")
OUTCOMES = ("tried", "refused", "planned", "crashed", "hung", "silent", "noisy", "lost")
BAD = ("crashed", "hung", "silent", "noisy", "lost")

# Values that a program might not expect.
ODD = [None, True, -1, 0, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 1e308, -0.0, "", " ", "a" * 300,
       "9" * 400, "1E", "8Ei", "5Pi", "-1Gi", "1e400", "0.0000000001", "4x", "NaN", "0x10", "+5",
       "\u001b[31m", "a\nb", "a/b", "\u202etxt", "\u0000", "../../etc/passwd", "%s%n", "2026-13-99",
       "9999-12-31T23:59:59Z", [], {}, [[]], {"": ""}, [None], {"a": {"b": {}}}, "true", "null"]
ODD_BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x1b[2J", b"\xef\xbb\xbf", b"{", b"}",
             b"[", b"]", b"\"", b"\\", b",", b":", b"\n", b"---\n", b"...\n", b"&a *a", b"!!", b"<<: ",
             b"9" * 100, b"e999", b"\xf4\x90\x80\x80", b"\xfe\xff"]


class Run:
    """How one process of ebb ended."""

    def __init__(self, words, **options):
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              stdout=options.pop("stdout", subprocess.DEVNULL),
                              **options) as process:
            self.hung = False
            try:
                self.err = process.communicate(timeout=TIMEOUT_S)[1]
            except subprocess.TimeoutExpired:
                self.hung = True
                process.kill()
                self.err = process.communicate()[1]
            self.code = process.returncode

    def outcome(self):
        if self.hung:
            return "hung"
        if self.code not in (0, 1, 2, 10, 11) or any(word in self.err for word in SANITIZER):
            return "crashed"
        if self.code in (1, 2) and not self.err.strip():
            return "silent"
        try:
            text = self.err.decode()
        except UnicodeDecodeError:
            return "noisy"
        if text.count("\n") > LINES_MAX or any(ord(c) < 32 and c != "\n" or ord(c) == 127
                                               for c in text):
            return "noisy"
        return "refused" if self.code in (1, 2) else "planned"


# --- Inputs ------------------------------------------------------------------------


class Seeds:
    """Valid files of every form, made once; each attack changes one of them."""

    def __init__(self, ebb, folder):
        self.forms = {}
        big = os.path.join(folder, "seed.json")
        make = lambda *words: subprocess.run([ebb, *words], check=True, stderr=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, timeout=60)
        make("gen", "company", "--nodes", "4", "--seed", "1", "-o", big)
        with open(big, encoding="utf-8") as file:
            self.list = json.load(file)
        # Few objects, so that most changes matter and a run takes milliseconds.
        kinds = collections.Counter()
        kept = []
        for item in self.list["items"]:
            kinds[item["kind"]] += 1
            if kinds[item["kind"]] <= (8 if item["kind"] == "Pod" else 3):
                kept.append(item)
        kept += [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                  "metadata": {"name": "c", "namespace": "team-1"},
                  "spec": {"volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}}},
                 {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
                  "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h"}}}]
        self.list["items"] = kept
        self.cluster = os.path.join(folder, "cluster.json")
        with open(self.cluster, "w", encoding="utf-8") as file:
            json.dump(self.list, file)
        for form in ("json", "yaml", "pb"):
            path = os.path.join(folder, "small." + form)
            make("import", self.cluster, "-o", path)
            with open(path, "rb") as file:
                self.forms[form] = file.read()
        self.forms["json.gz"] = gzip.compress(self.forms["json"], mtime=0)
        self.groups = {"groupLabel": "nodegroup", "nodeGroups": [
            {"name": "g", "nodeSelector": {"pool": "general"}, "minSize": 1, "maxSize": 9,
             "targetSize": 4, "atomic": False, "scaleDownUtilizationThreshold": 0.6,
             "scaleDownUnneededTime": "10m"}]}
        self.events = {
            "scaleUps": [{"group": "g", "at": "2026-01-01T00:00:00Z"}],
            "deletionResults": [{"node": "a", "result": "Ok", "group": "g"}],
            "deletionsInProgress": [{"node": kept[-3]["metadata"]["name"], "group": "g",
                                     "drained": True}],
            "recentEvictions": [{"namespace": "default", "name": "web-1", "uid": "u"}],
            "unreadyNodes": ["a"], "unregisteredNodes": [{"group": "g", "count": 2}]}
        for name, value in (("groups", self.groups), ("events", self.events)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(value, file)
        self.state = os.path.join(folder, "state.db")
        # The files must be valid before they are changed, or the attacks would test little.
        make("plan", self.cluster, "--allow-incomplete", "--state", self.state, "--now", "2026-01-02T00:00:00Z",
             "--node-groups", os.path.join(folder, "groups"), "--events",
             os.path.join(folder, "events"))
        with open(self.state, "rb") as file:
            self.forms["db"] = file.read()


def damage(rng, data):
    """Flipped bits, cuts, swapped and repeated parts."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if not data:
            break
        at = rng.randrange(len(data))
        way = rng.randrange(7)
        if way <= 1:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 2:
            del data[at:]
        elif way == 3:
            del data[at:at + rng.randrange(1, 200)]
        elif way == 4:
            data[at:at] = rng.choice(ODD_BYTES)
        elif way == 5:
            data[at:at] = data[at:at + rng.randrange(1, 500)]
        else:
            data[at:at + 4] = rng.randbytes(4)
    return bytes(data)


def places(value, found):
    """Every container in `value`, with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            places(value[key], found)
    return found


def mutate(rng, value):
    """Puts other values into the same structure, or changes the structure."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = places(value, [])
        if not found:
            break
        holder, key = rng.choice(found)
        way = rng.randrange(6)
        if way <= 2:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        elif way == 3:
            del holder[key]
        elif way == 4:
            holder[key] = copy.deepcopy(rng.choice(found)[0])  # A value of another type.
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[rng.choice(("", "kind", "items", "\u001b[0m", "spec", "name", "continue"))] = \
                holder[key]
    return value


def nested(rng):
    depth = rng.choice((10, 100, 1000, 100000))
    open_, close = rng.choice((("[", "]"), ('{"a":', "}"), ('{"items":[', "]}")))
    return (open_ * depth + "1" + close * depth * rng.randrange(2)).encode()


def doubled(rng, text):
    """Repeats a key in its object."""
    at = rng.randrange(len(text))
    at = text.find(b'":', at)
    if at < 0:
        return text
    begin = text.rfind(b'"', 0, at)
    return text[:begin] + text[begin:at + 2] + b"null," + text[begin:]


def dumped(rng, value):
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def make_input(rng, seeds, kind):
    """The input of one attack: (file name, bytes)."""
    if kind == "damaged":
        form = rng.choice(("json", "yaml", "pb", "json.gz"))
        return "x." + form, damage(rng, seeds.forms[form])
    if kind == "mutated":
        data = dumped(rng, mutate(rng, seeds.list))
        if rng.random() < 0.2:
            return "x.json.gz", gzip.compress(data, mtime=0)
        # JSON is also YAML, which another parser reads.
        return rng.choice((("x.json", data), ("x.yaml", b"--- " + data)))
    if kind == "shaped":
        way = rng.randrange(5)
        if way == 0:
            return rng.choice(("x.json", "x.yaml")), nested(rng)
        if way == 1:
            return "x.json", doubled(rng, seeds.forms["json"])
        if way == 2:
            return "x.yaml", (b"a: &a [1,1,1,1,1,1,1,1]\n" + b"".join(
                b"%c: &%c [*%c,*%c,*%c,*%c]\n" % (c + 1, c + 1, c, c, c, c)
                for c in range(97, 97 + rng.randrange(2, 25))))
        if way == 3:
            return "x.json.gz", gzip.compress(gzip.compress(seeds.forms["json"]))
        return rng.choice(("x.json", "x.yaml", "x.pb", "x.gz")), rng.randbytes(rng.randrange(200))
    settings = seeds.groups if kind == "groups" else seeds.events
    data = dumped(rng, mutate(rng, settings))
    return "x.yaml", damage(rng, data) if rng.random() < 0.5 else data


class Attack:
    """State that all attacks share, and their counts."""

    def __init__(self, ebb, seed, folder, keep):
        self.ebb, self.seed, self.folder, self.keep = ebb, seed, folder, keep
        self.seeds = Seeds(ebb, folder)
        self.counts = {}

    def count(self, kind, outcome, note=""):
        counts = self.counts.setdefault(kind, collections.Counter())
        counts["tried"] += 1
        counts[outcome] += 1
        if outcome in BAD:
            print(f"attack: {kind}: {outcome}: {note}", file=sys.stderr)

    def failures(self):
        return sum(counts[name] for counts in self.counts.values() for name in BAD)

    def one(self, kind, number):
        """Runs one input; returns (outcome, note)."""
        rng = random.Random(f"{self.seed} {kind} {number}")
        folder = tempfile.mkdtemp(dir=self.folder)
        try:
            return self._one(rng, kind, number, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _one(self, rng, kind, number, folder):
        if kind == "state":
            return self._state(rng, folder)
        name, data = make_input(rng, self.seeds, kind)
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        now = ["--now", "2026-01-02T00:00:00Z", "--threads", "1"]
        if kind in ("damaged", "mutated", "shaped"):
            words = rng.choice((
                ["plan", path, "--allow-incomplete", "-o", rng.choice(("json", "table", "wide", "name", "yaml")), *now],
                ["plan", path, "--allow-incomplete", *now], ["import", path],
                ["filter", path, "--pod", "team-1/p"]))
        elif kind == "groups":
            words = ["plan", self.seeds.cluster, "--allow-incomplete", "--node-groups", path, *now]
        else:
            words = ["plan", self.seeds.cluster, "--allow-incomplete", "--state", os.path.join(folder, "s.db"),
                     "--events", path, *now]
        run = Run([self.ebb, *words])
        outcome = run.outcome()
        if outcome in BAD and self.keep:
            os.makedirs(self.keep, exist_ok=True)
            kept = os.path.join(self.keep, f"{kind}-{number}-{name}")
            shutil.copy(path, kept)
            path = kept
        return outcome, f"ebb {' '.join(words)} ({path}): {run.code} {run.err[-300:]!r}"

    def _state(self, rng, folder):
        path = os.path.join(folder, "s.db")
        data = self.seeds.forms["db"]
        with open(path, "wb") as file:
            file.write(damage(rng, data) if rng.random() < 0.7 else data)
        if rng.random() < 0.5:
            try:
                with sqlite3.connect(path) as database:
                    tables = [row[0] for row in database.execute(
                        "SELECT name FROM sqlite_master WHERE type = 'table'")]
                    table = rng.choice(tables)
                    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
                    odd = rng.choice(ODD)
                    database.execute(f"UPDATE {table} SET {rng.choice(columns)} = ?",
                                     (odd if isinstance(odd, str) else rng.choice((None, -1, 1.5)),))
                database.close()
            except (sqlite3.Error, IndexError, UnicodeError):
                pass
        words = ["plan", self.seeds.cluster, "--allow-incomplete", "--state", path, "--now", "2026-01-02T00:10:00Z"]
        run = Run([self.ebb, *words])
        return run.outcome(), f"ebb {' '.join(words)}: {run.code} {run.err[-300:]!r}"

    def inputs(self, total):
        """Attacks that change ebb's input."""
        shares = {"damaged": 40, "mutated": 40, "shaped": 6, "groups": 5, "events": 5, "state": 4}
        jobs = []
        for kind, share in shares.items():
            jobs += [(kind, number) for number in range(total * share // 100)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (kind, _), (outcome, note) in zip(jobs, pool.map(lambda job: self.one(*job), jobs)):
                self.count(kind, outcome, note)

    # --- Outputs ---

    def output(self, kind, words, target, old, new, **options):
        """Checks that an output file is the old one, or after a success the new one."""
        if target:
            with open(target, "wb") as file:
                file.write(old)
        run = Run([self.ebb, *words], **options)
        outcome = run.outcome()
        if target and outcome in ("refused", "planned"):
            with open(target, "rb") as file:
                now = file.read()
            if now != (new if run.code == 0 else old):
                outcome = "lost"
        self.count(kind, outcome, f"ebb {' '.join(words)}: {run.code} {run.err[-300:]!r}")

    def outputs(self):
        cluster = self.seeds.cluster
        for form in ("json", "yaml", "pb"):
            new = self.seeds.forms[form]
            target = os.path.join(self.folder, "out." + form)
            for limit in (0, 1, 100, 4096, len(new) - 1, len(new), 1 << 20):
                self.output("file size limit", ["import", cluster, "-o", target], target, b"old",
                            new, preexec_fn=lambda limit=limit: resource.setrlimit(
                                resource.RLIMIT_FSIZE, (limit, limit)))
            for name in ("out." + form, "./out." + form, "soft." + form, "hard." + form):
                path = os.path.join(self.folder, name)
                for other in ("soft." + form, "hard." + form):
                    if os.path.lexists(os.path.join(self.folder, other)):
                        os.unlink(os.path.join(self.folder, other))
                with open(target, "wb") as file:
                    file.write(new)
                os.symlink(target, os.path.join(self.folder, "soft." + form))
                os.link(target, os.path.join(self.folder, "hard." + form))
                run = Run([self.ebb, "import", path, "-o", target])
                with open(target, "rb") as file:
                    same = file.read() == new
                self.count("output is input",
                           run.outcome() if same and run.code == 1 else "lost", name)
            self.killed(form, target)
        round_ = ["plan", cluster, "--allow-incomplete", "--state", os.path.join(self.folder, "s.db"), "--record",
                  os.path.join(self.folder, "r.db")]
        for words in (*[["plan", cluster, "--allow-incomplete", "-o", form] for form in
                        ("table", "wide", "json", "yaml", "name")], round_,
                      ["plan", cluster, "--allow-incomplete", "--fail-if", "removed>=0"],
                      [*round_, "--metrics", "-"], ["replay", os.path.join(self.folder, "r.db")],
                      ["import", cluster], ["gen", "company", "--nodes", "3"], ["version"], ["--help"]):
            with open("/dev/full", "wb") as full:
                run = Run([self.ebb, *words], stdout=full)
            self.count("/dev/full", run.outcome() if run.code == 1 else "lost", " ".join(words))
        self.small_disk()

    def killed(self, form, target):
        """Sends SIGKILL while the file is written."""
        new = os.path.join(self.folder, "new." + form)
        words = ["gen", "company", "--nodes", "60", "--seed", "3", "-o"]
        Run([self.ebb, *words, new])
        with open(new, "rb") as file:
            new = file.read()
        rng = random.Random(f"{self.seed} kill {form}")
        for _ in range(25):
            with open(target, "wb") as file:
                file.write(b"old")
            with subprocess.Popen([self.ebb, *words, target], stderr=subprocess.DEVNULL) as process:
                time.sleep(rng.random() * 0.03)
                process.kill()
            with open(target, "rb") as file:
                now = file.read()
            outcome = "refused" if now == b"old" else "planned" if now == new else "lost"
            self.count("killed", outcome, f"{form}: {len(now)} bytes")

    def small_disk(self):
        """Uses a file system of 64 KiB.  Skipped if mounting is not permitted; output() limits the size of files instead."""
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0 \
            if shutil.which("mount") else False
        if not mounted:
            print("attack: small disk: SKIPPED, mounting is not permitted here", file=sys.stderr)
            return
        try:
            for form in ("json", "yaml", "pb"):
                target = os.path.join(disk, "out." + form)
                self.output("small disk", ["gen", "company", "--nodes", "200", "-o", target], target,
                            b"old", None)
                os.unlink(target)
            metrics = os.path.join(disk, "m")
            filler = os.path.join(disk, "filler")
            with open(metrics, "wb") as file:
                file.write(b"old")
            with open(filler, "wb") as file:
                file.write(b"x" * os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize)
            run = Run([self.ebb, "plan", self.seeds.cluster, "--allow-incomplete", "--state",
                       os.path.join(self.folder, "disk.db"), "--metrics", metrics])
            with open(metrics, "rb") as file:
                kept = file.read() == b"old"
            self.count("small disk", run.outcome() if kept and run.code == 1 else "lost", "metrics")
        finally:
            subprocess.run(["umount", disk], check=False)

    def report(self):
        print(f"{'CLASS':<18}" + "".join(f"{name.upper():>9}" for name in OUTCOMES))
        total = collections.Counter()
        for kind, counts in self.counts.items():
            total.update(counts)
            print(f"{kind:<18}" + "".join(f"{counts[name]:>9}" for name in OUTCOMES))
        print(f"{'all':<18}" + "".join(f"{total[name]:>9}" for name in OUTCOMES))


def attack(ebb, inputs, seed, keep=None):
    """Runs all attacks and prints the counts; returns the number of failures."""
    with tempfile.TemporaryDirectory(prefix="ebb-attack-") as folder:
        print(f"attack: {inputs} inputs, --seed {seed}")
        it = Attack(ebb, seed, folder, keep)
        it.inputs(inputs)
        it.outputs()
        it.report()
        return it


#  --- The attack must be able to fail ---------------------------------------------------

FAULTS = {
    # Each is a wrong ebb, as a shell script in front of the real one, with the failure to be noticed.
    "crashed": 'case "$2" in *x.pb) kill -SEGV $$;; esac; exec "$EBB" "$@"',
    "silent": '"$EBB" "$@" 2>/dev/null',
    "noisy": 'printf "\\033[31m" >&2; exec "$EBB" "$@"',
    # Writes in place, at first only half.
    "lost": 'for word; do last=$word; done; case "$1 $last" in "import "*/out.*) '
            '"$EBB" import "$2" | head -c 100 >"$last"; exit 0;; *) exec "$EBB" "$@";; esac',
    # Ignores that standard output is full.
    "lost on /dev/full": '"$EBB" "$@"; code=$?; '
                         'if [ /proc/self/fd/1 -ef /dev/full ]; then exit 0; fi; exit $code',
}


def self_test(ebb):
    failed = 0
    for name, script in FAULTS.items():
        with tempfile.TemporaryDirectory(prefix="ebb-wrong-") as folder:
            wrong = os.path.join(folder, "ebb")
            with open(wrong, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(wrong, stat.S_IRWXU)
            os.environ["EBB"] = ebb
            with open(os.devnull, "w", encoding="utf-8") as quiet:
                out, err, sys.stdout, sys.stderr = sys.stdout, sys.stderr, quiet, quiet
                try:
                    it = attack(wrong, 100, 1)
                finally:
                    sys.stdout, sys.stderr = out, err
            outcome = name.split()[0]
            noticed = sum(counts[outcome] for counts in it.counts.values())
            print(f"{name}: noticed {noticed} times")
            failed += noticed == 0
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ebb", metavar="EBB")
    parser.add_argument("inputs", metavar="INPUTS", type=int, nargs="?", default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="FOLDER", help="where inputs that did harm are kept")
    parser.add_argument("--self-test", action="store_true")
    flags = parser.parse_intermixed_args()
    ebb = os.path.abspath(flags.ebb)
    if flags.self_test:
        return 1 if self_test(ebb) else 0
    start = time.monotonic()
    it = attack(ebb, flags.inputs, flags.seed, flags.keep)
    print(f"attack: {it.failures()} failures, {time.monotonic() - start:.0f} s")
    return 1 if it.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
