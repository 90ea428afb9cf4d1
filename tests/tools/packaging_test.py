#!/usr/bin/env python3
"""How `ebb serve` runs under systemd and in a container's root.

    packaging_test.py EBB SOURCE_DIR

Needs the package systemd for its analysis of the unit.  The test plays the rest of systemd: it passes the
socket, and receives the messages of readiness and of the watchdog.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

EBB = pathlib.Path(sys.argv[1]).resolve()
PACKAGING = pathlib.Path(sys.argv[2]).resolve() / "packaging"
WAIT_S = 60


class UnitTest(unittest.TestCase):

    def test_exposure_is_below_two(self):
        run = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager",
             str(PACKAGING / "systemd/ebb.service")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_flags_of_the_unit_are_flags(self):
        unit = (PACKAGING / "systemd/ebb.service").read_text()
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
        help_text = subprocess.check_output([EBB, "serve", "--help"], text=True)
        for word in command.split():
            if word.startswith("--"):
                self.assertIn(word, help_text)


class ActivationTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ebb-systemd-")
        self.addCleanup(folder.cleanup)
        self.path = folder.name + "/e.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen(5)
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notices.close)
        self.notices.bind(folder.name + "/notify")
        self.notices.settimeout(WAIT_S)
        self.environment = {**os.environ, "NOTIFY_SOCKET": folder.name + "/notify"}

    def start(self, **environment):
        # systemd names the process by its id in LISTEN_PID.
        process = subprocess.Popen(
            ["/bin/sh", "-c", 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" serve --log none', EBB],
            env={**self.environment, "LISTEN_FDS": "1", **environment}, stderr=subprocess.PIPE,
            text=True, pass_fds=(3, 4),
            preexec_fn=lambda: [os.dup2(self.listener.fileno(), fd) for fd in (3, 4)])
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def notice(self):
        return self.notices.recv(1000)

    def test_socket_readiness_watchdog_and_stop(self):
        process = self.start(WATCHDOG_USEC="300000")
        self.assertEqual(self.notice(), b"READY=1")
        status = subprocess.check_output(
            [EBB, "serve", "status", "--server", f"unix:{self.path}"], text=True)
        self.assertIn(str(process.pid), status)
        for _ in range(3):
            self.assertEqual(self.notice(), b"WATCHDOG=1")
        process.send_signal(signal.SIGTERM)
        while (last := self.notice()) == b"WATCHDOG=1":
            pass
        self.assertEqual(last, b"STOPPING=1")
        self.assertEqual(process.wait(WAIT_S), 0)
        # The socket belongs to systemd, which continues to listen.
        self.assertTrue(os.path.exists(self.path))

    def test_two_sockets_are_refused(self):
        process = self.start(LISTEN_FDS="2")
        self.assertEqual(process.wait(WAIT_S), 1)
        self.assertIn("more than one socket", process.stderr.read())


class StartTest(unittest.TestCase):

    # Symptom: `ebb --version` took 20 ms, because the loader took in libraries that only a daemon needs.
    def test_libraries_that_few_commands_need_are_not_linked(self):
        linked = subprocess.check_output(["ldd", EBB], text=True)
        self.assertIn("libc.so", linked)
        for library in ("libcurl.so", "libldap", "libgcrypt"):
            self.assertNotIn(library, linked)


class ImageTest(unittest.TestCase):

    @unittest.skipUnless(os.geteuid() == 0, "only root can change its root")
    @unittest.skipIf(b"__asan_init" in EBB.read_bytes(), "there is no /proc, where leaks are looked for")
    def test_program_runs_in_a_root_of_its_own(self):
        with tempfile.TemporaryDirectory(prefix="ebb-image-") as root:
            subprocess.run([PACKAGING / "collect.sh", EBB, root], check=True)
            os.chmod(root, 0o755)
            for folder in ("run/ebb", "var/lib/ebb"):
                (pathlib.Path(root) / folder).mkdir(parents=True)
                os.chown(pathlib.Path(root) / folder, 65532, 65532)
                os.chmod(pathlib.Path(root) / folder, 0o700)
            self.assertFalse(list(pathlib.Path(root).rglob("*sh")), "a shell")

            def enter():
                os.chroot(root)
                os.chdir("/")
                os.setgroups([])
                os.setgid(65532)
                os.setuid(65532)
            text = subprocess.check_output(["/usr/bin/ebb", "version"], preexec_fn=enter, text=True)
            self.assertTrue(text.startswith("ebb "), text)
            # Libraries that the program loads by name, and whose own libraries the loader must find.
            self.assertTrue(list(pathlib.Path(root).rglob("libcurl.so.4")))
            under_systemd = dict(os.environ, NOTIFY_SOCKET="/run/ebb/none")
            process = subprocess.Popen(
                ["/usr/bin/ebb", "serve", "--socket", "/run/ebb/ebb.sock", "--state-folder",
                 "/var/lib/ebb"], preexec_fn=enter, stderr=subprocess.PIPE, text=True, env=under_systemd)
            self.assertIn("serves on", process.stderr.readline())
            # Root may always connect.
            status = subprocess.check_output(
                [EBB, "serve", "status", "--server", f"unix:{root}/run/ebb/ebb.sock"], text=True)
            self.assertIn("0 sessions", status)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(WAIT_S), 0)
            process.stderr.close()

    def test_the_dockerfile_names_existing_files(self):
        text = (PACKAGING / "Dockerfile").read_text()
        self.assertIn("packaging/collect.sh", text)
        self.assertTrue(shutil.which("bash"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
