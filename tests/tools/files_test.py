#!/usr/bin/env python3
"""Every output file of `ebb` is complete, or the exit code shows that it is not.

    files_test.py EBB [UNITTEST_ARGUMENT...]
"""

import contextlib
import json
import os
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import unittest

EBB = ""
FULL = "ebb: standard output: No space left on device\n"


class FilesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ebb-files-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.dump = self.path("a.json")
        self.ebb("gen", "company", "--nodes", "30", "--seed", "1", "-o", self.dump)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def ebb(self, *words, code=0, **options):
        """Runs ebb, which must exit with `code`; returns (stdout, stderr)."""
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([EBB, *words], stderr=subprocess.PIPE, text=True, timeout=120,
                              check=False, **options)
        self.assertEqual(done.returncode, code, f"ebb {' '.join(words)}: {done.stderr}")
        return done.stdout, done.stderr

    def refused(self, *words, **options):
        err = self.ebb(*words, code=1, **options)[1]
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def pod(self):
        with open(self.dump, encoding="utf-8") as file:
            for item in json.load(file)["items"]:
                if item["kind"] == "Pod" and item.get("status", {}).get("phase") == "Running":
                    return item["metadata"]["namespace"] + "/" + item["metadata"]["name"]
        return ""

    def test_no_command_succeeds_on_a_full_standard_output(self):
        round_ = ["plan", self.dump, "--state", self.path("s.db"), "--record", self.path("r.db")]
        commands = [["plan", self.dump, "-o", form]
                    for form in ("table", "wide", "json", "yaml", "name")]
        commands += [["filter", self.dump, "--pod", self.pod(), "-o", form]
                     for form in ("table", "json")]
        commands += [round_, [*round_, "--metrics", "-"], ["replay", self.path("r.db")],
                     ["gen", "uniform", "--nodes", "3"], ["gen", "company", "-o", "-"],
                     ["import", self.dump], ["version"], ["--help"], ["plan", "--help"]]
        for words in commands:
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                err = self.ebb(*words, code=1, stdout=full)[1]
                self.assertTrue(err.endswith(FULL), err)
                self.assertEqual(err.count("standard output"), 1, err)

    def test_answers_that_cannot_be_written_end_the_conversation(self):
        request = json.dumps({"id": 1, "objects": [], "pods": []}) + "\n"
        with open("/dev/full", "wb") as full:
            err = self.ebb("filter", "--stdin", code=1, input=request * 10, stdout=full)[1]
        self.assertEqual(err, FULL)

    def test_a_closed_pipe_gives_no_error_message(self):
        for ignored, codes in ((False, [-signal.SIGPIPE]), (True, [1])):
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run(
                [EBB, "plan", self.dump, "-o", "name"], stdout=write, stderr=subprocess.PIPE,
                check=False, restore_signals=False,
                preexec_fn=lambda ignore=ignored: signal.signal(
                    signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL))
            os.close(write)
            self.assertIn(done.returncode, codes)
            self.assertNotIn(b"standard output", done.stderr)

    def test_a_closed_standard_output_is_an_error_and_no_file_takes_its_place(self):
        done = subprocess.run(["bash", "-c", '"$0" plan "$1" --state "$2" --metrics "$3" >&-', EBB,
                               self.dump, self.path("s.db"), self.path("m")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ebb: standard output: Bad file descriptor\n", done.stderr)
        self.assertTrue(self.bytes("m").startswith(b"# HELP"))

    def test_an_output_that_is_the_input_is_refused_and_stays(self):
        before = self.bytes("a.json")
        os.symlink("a.json", self.path("soft.json"))
        for name in ("a.json", "soft.json", "./a.json"):
            self.assertIn("is both INPUT and --output",
                          self.refused("import", self.dump, "-o", self.path(name)))
        self.assertIn("a folder that holds --output",
                      self.refused("import", self.folder, "-o", self.path("all.pb")))
        with open(self.dump, "rb") as same:
            self.assertIn("is both INPUT and --output",
                          self.refused("import", "-", "-o", self.dump, stdin=same))
        with open(self.dump, "ab") as same:
            self.assertIn("is both INPUT and standard output",
                          self.refused("import", self.dump, stdout=same))
        self.assertEqual(self.bytes("a.json"), before)

    def test_metrics_do_not_overwrite_what_the_round_needs(self):
        state = self.path("s.db")
        self.ebb("plan", self.dump, "--state", state)
        groups, events = self.path("groups.yaml"), self.path("events.yaml")
        for path in (groups, events):
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}\n")
        words = ["plan", self.dump, "--state", state, "--node-groups", groups, "--events", events]
        for flag, path in (("--state", state), ("INPUT", self.dump), ("--node-groups", groups),
                           ("--events", events)):
            with open(path, "rb") as file:
                before = file.read()
            err = self.refused(*words, "--metrics", path)
            self.assertIn(f"is both {flag} and --metrics", err)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)
        self.assertIn("is both INPUT and --state",
                      self.refused("plan", self.dump, "--state", self.dump))

    def test_a_failed_import_keeps_the_good_file(self):
        for name in ("good.json", "good.yaml", "good.pb"):
            self.ebb("import", self.dump, "-o", self.path(name))
            before = self.bytes(name)
            bad = self.path("bad")
            with open(bad, "wb") as file:
                file.write(self.bytes("a.json")[:-20])
            self.refused("import", bad, "-o", self.path(name))
            self.assertEqual(self.bytes(name), before)

    def test_a_full_disk_keeps_the_good_file_and_says_so(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for name in ("good.json", "good.yaml", "good.pb"):
            self.ebb("import", self.dump, "-o", self.path(name))
            before = self.bytes(name)
            err = self.refused("import", self.dump, "-o", self.path(name), preexec_fn=limit)
            self.assertEqual(err, f"ebb: {self.path(name)}: File too large\n")
            self.assertEqual(self.bytes(name), before)
        self.assertEqual(self.refused("import", self.dump, "-o", "/dev/full"),
                         "ebb: /dev/full: No space left on device\n")
        self.assertEqual([name for name in os.listdir(self.folder) if "ebb-tmp" in name], [])

    def test_a_killed_write_leaves_the_old_file_or_the_new_one(self):
        big = self.path("big.json")
        self.ebb("gen", "company", "--nodes", "400", "-o", big)
        self.ebb("import", big, "-o", self.path("out.pb"))
        new = self.bytes("out.pb")
        for tries in range(20):
            self.ebb("import", self.dump, "-o", self.path("out.pb"))
            old = self.bytes("out.pb")
            with subprocess.Popen([EBB, "import", big, "-o", self.path("out.pb")],
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(tries * 0.003)
                process.kill()
            self.assertIn(self.bytes("out.pb"), (old, new))

    def test_a_file_that_is_cut_anywhere_is_refused(self):
        small = self.path("small.json")
        self.ebb("gen", "company", "--nodes", "2", "-o", small)
        for name in ("cut.json", "cut.yaml", "cut.pb"):
            self.ebb("import", small, "-o", self.path(name))
            whole = self.bytes(name)
            self.ebb("import", self.path(name), stdout=subprocess.DEVNULL)
            for i in range(100):
                with open(self.path(name), "wb") as file:
                    file.write(whole[:i * (len(whole) - 2) // 99])
                self.refused("import", self.path(name))

    def test_a_plan_from_pb_is_that_from_json_byte_for_byte(self):
        for kind in ("uniform", "mixed", "company", "topology", "repelling", "diverse", "terms", "excluding", "budgets",
                     "claims"):
            with self.subTest(kind=kind):
                dump, binary = self.path(kind + ".json"), self.path(kind + ".pb")
                self.ebb("gen", kind, "--nodes", "40", "--seed", "3", "-o", dump)
                self.ebb("import", dump, "-o", binary)
                for words in (["plan", "-o", "json"], ["plan", "-o", "wide"], ["blockers", "-o", "json"]):
                    command, *options = words
                    now = ["--now", "2026-06-01T12:00:00Z"]
                    plans = [re.sub(r"Planned in .*", "Planned", self.ebb(command, path, *options, *now)[0])
                             for path in (dump, binary)]
                    self.assertEqual(plans[0], plans[1].replace(binary, dump))

    def test_a_record_that_was_changed_is_refused(self):
        record = self.path("r.db")
        self.ebb("plan", self.dump, "--state", self.path("s.db"), "--record", record)
        self.assertIn("1 of 1 round identical", self.ebb("replay", record)[0])
        with contextlib.closing(sqlite3.connect(record)) as database, database:
            database.execute("UPDATE rounds SET arguments = replace(arguments, '}', ' }')")
        self.assertIn("round 1: is damaged", self.refused("replay", record))

    def test_text_that_an_error_quotes_is_escaped(self):
        groups = self.path("groups.yaml")
        with open(groups, "wb") as file:
            file.write(b'nodeGroups: [{name: g, "\\e[31m\\u202e": 1}]\n')
        for words, code in ((["plan", self.dump, "--node-groups", groups], 1),
                            (["plan", self.dump, "--no\x1b[0m\u202e\n"], 2),
                            (["import", self.path("no\x1b[0m")], 1)):
            err = self.ebb(*words, code=code)[1]
            self.assertTrue(all(c == "\n" or c.isprintable() for c in err), repr(err))

    def test_dev_stdout_is_standard_output(self):
        out = self.ebb("import", self.dump, "-o", "/dev/stdout")[0]
        self.assertEqual(out.encode(), self.bytes("a.json"))
        with open(self.path("kept.json"), "wb") as file:
            file.write(b"before\n")
            file.flush()
            self.ebb("import", self.dump, "-o", "/dev/stdout", stdout=file)
        self.assertEqual(self.bytes("kept.json"), b"before\n" + self.bytes("a.json"))

    def test_a_file_made_read_only_is_not_replaced(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everything")
        os.chmod(self.dump, stat.S_IRUSR)
        self.assertIn("Permission denied", self.refused("gen", "company", "-o", self.dump))


if __name__ == "__main__":
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
