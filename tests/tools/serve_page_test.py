#!/usr/bin/env python3
"""The pages of `ebb serve`: metrics as Prometheus reads them, the page as a browser shows it.

    serve_page_test.py EBB

Needs the distribution's chromium and chromium-driver.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from browser import WAIT_S, Browser, free_port, has_browser, wait_for

EBB = pathlib.Path(sys.argv[1]).resolve()
# A name that would become markup if the page did not set it as text.
HOSTILE = '<img src=x onerror="document.title=1">'


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def node(name, zone):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": "uid-" + name,
                         "labels": {"nodegroup": "general", "topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, on, cpu):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "uid": "uid-" + name, "namespace": "default",
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                              "name": "web", "uid": "rs", "controller": True}]},
            "spec": {"nodeName": on,
                     "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"phase": "Running"}}


REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
               "metadata": {"name": "web", "uid": "rs", "namespace": "default"},
               "spec": {"replicas": 3}, "status": {"replicas": 3}}


class PageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ebb-page-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.port = free_port()
        cls.socket = cls.folder.name + "/e.sock"
        cls.pages = cls.folder.name + "/pages.sock"
        cls.server = subprocess.Popen(
            [EBB, "serve", "--socket", cls.socket, "--log", "none", "--metrics-address",
             f"127.0.0.1:{cls.port}", "--metrics-socket", cls.pages], stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        wait_for("ebb serve", lambda: os.path.exists(cls.socket) and os.path.exists(cls.pages))

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        assert cls.server.wait(WAIT_S) == 0

    def load(self, objects, session="default"):
        dump = self.folder.name + "/dump.json"
        pathlib.Path(dump).write_text(json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [*objects, REPLICA_SET]}))
        subprocess.run([EBB, "plan", dump, "--server", f"unix:{self.socket}", "--session", session],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, body, reply.headers

    def test_metrics_are_prometheus(self):
        self.load([node("a", "z1"), node("b", "z1"), pod("p", "a", "1")], session="metrics")
        status, text, _ = self.get("/metrics")
        self.assertEqual(status, 200)
        helped, typed, seen = set(), set(), set()
        for line in text.splitlines():
            comment = re.fullmatch(r"# (HELP|TYPE) (\S+) .+", line)
            if comment:
                known = helped if comment[1] == "HELP" else typed
                self.assertNotIn(comment[2], known, "it has two such comments")
                known.add(comment[2])
                continue
            sample = re.fullmatch(
                r'([a-z_]+)(\{([a-z_]+="[^"]*",?)*\})? (-?[0-9.e+-]+|\+Inf|NaN)', line)
            self.assertTrue(sample, line)
            self.assertNotIn(line.rsplit(" ", 1)[0], seen, "a sample twice")
            seen.add(line.rsplit(" ", 1)[0])
            name = re.sub(r"_(bucket|sum|count)$", "", sample[1])
            self.assertIn(name if name in helped else sample[1], helped & typed)
        self.assertIn('ebb_session_nodes{session="metrics"} 2', text)
        self.assertIn('ebb_calls_total{call="Load",code="OK"}', text)

    def test_unknown_pages_and_methods_are_errors(self):
        self.assertEqual(self.get("/healthz")[:2], (200, "ok\n"))
        self.assertEqual(self.get("/nothing")[0], 404)
        self.assertEqual(self.get("/page.json?session=none")[0], 404)
        self.assertEqual(self.get("/page.json?session=A")[0], 400)
        self.assertEqual(self.get("/explain.json?session=none&node=x")[0], 404)
        self.assertEqual(self.get("/../../etc/passwd")[0], 404)
        headers = self.get("/")[2]
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("POST", "/", body=b"x")
        self.assertEqual(connection.getresponse().status, 405)
        connection.close()

    def test_names_of_others_are_refused(self):
        for host in ["evil.example", f"evil.example:{self.port}", "localhost.evil.example", "1.2.3"]:
            for path in ["/", "/page.js", "/sessions.json", "/page.json?session=default"]:
                self.assertEqual(self.get(path, Host=host)[0], 400, host + path)
            self.assertEqual(self.get("/metrics", Host=host)[0], 200)
            self.assertEqual(self.get("/healthz", Host=host)[0], 200)
        for host in ["localhost", f"localhost:{self.port}", "10.1.2.3:80", "[::1]:80", "127.0.0.1"]:
            self.assertEqual(self.get("/sessions.json", Host=host)[0], 200, host)

    def test_an_address_is_one_daemons(self):
        second = subprocess.run(
            [EBB, "serve", "--socket", self.folder.name + "/second.sock", "--metrics-address",
             f"127.0.0.1:{self.port}"], stderr=subprocess.PIPE, text=True, timeout=WAIT_S,
            check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn("cannot be listened on; is it taken?", second.stderr)

    def test_half_sent_requests_delay_no_other_request(self):
        halves = [socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
                  for _ in range(60)]
        for half in halves:
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        self.assertEqual(self.get("/healthz")[0], 200)
        for half in halves:
            half.settimeout(WAIT_S)
            with contextlib.suppress(OSError):
                half.recv(1000)  # The connection is closed, or answered.
            half.close()

    def test_own_socket_is_private(self):
        self.assertEqual(os.stat(self.pages).st_mode & 0o777, 0o600)
        connection = UnixConnection(self.pages)
        connection.request("GET", "/healthz")
        self.assertEqual(connection.getresponse().read(), b"ok\n")
        connection.close()

    def test_as_many_followers_as_allowed(self):
        self.load([node("a", "z1"), node("b", "z1"), pod("p", "a", "1")], session="followed")
        followers = []
        for _ in range(8):
            follower = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
            follower.sendall(b"GET /events?session=followed HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b" 200 ", follower.recv(1000))
            followers.append(follower)
        self.assertEqual(self.get("/events?session=followed")[0], 503)
        self.assertEqual(self.get("/healthz")[0], 200)
        for follower in followers:
            follower.close()
        wait_for("room for another", lambda: self.follows())

    def follows(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("GET", "/events?session=followed")
        status = connection.getresponse().status
        connection.close()
        return status == 200

    @unittest.skipUnless(has_browser(), "no browser")
    def test_page_in_a_browser(self):
        nodes = [node("a", "z1"), node("b", HOSTILE), node("c", "z2")]
        self.load([*nodes, pod("p", "a", "1"), pod("q", "b", "3"), pod("r", "c", "3")])
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(f"http://127.0.0.1:{self.port}/?session=default")
        wait_for("the plan", lambda: browser.text("headline").startswith("1 of 3 nodes can go"))
        wait_for("the drawing", lambda: browser.run("return document.documentElement.dataset.state === 'drawn'"))
        rows = browser.run("return [...document.querySelectorAll('#all-table tbody tr')].map((row) => "
                           "[...row.cells].map((cell) => cell.textContent))")
        self.assertEqual([row[0] for row in rows], ["a", "b", "c"])
        self.assertEqual([row[0] for row in rows if row[1].startswith("goes")], ["a"])
        self.assertIn("NotUnderutilized", browser.text("reasons-table"))
        # Names are shown as text.
        self.assertIn(HOSTILE, browser.text("map"))
        self.assertEqual(browser.run("return document.images.length"), 0)
        # A click shows why a node goes.
        browser.run("document.querySelector('#all-table button.link').click()")
        wait_for("why", lambda: "default/p" in browser.text("node-text"))
        self.assertIn("Goes, number 1 of 1.", browser.text("node-text"))
        self.assertEqual(browser.errors(), [])
        # The page shows a change without a reload.
        self.load([*nodes, pod("p", "a", "3"), pod("q", "b", "3"), pod("r", "c", "3")])
        wait_for("the change", lambda: browser.text("headline").startswith("0 of 3 nodes can go"))

    @unittest.skipUnless("EBB_SCREENSHOT" in os.environ and has_browser(), "makes the picture of docs/service.md")
    def test_picture(self):
        dump = self.folder.name + "/company.json"
        subprocess.run([EBB, "gen", "company", "--nodes", "300", "-o", dump], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([EBB, "plan", dump, "--server", f"unix:{self.socket}", "--session", "company"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        browser = Browser()
        self.addCleanup(browser.close)
        browser.set_view(1100, 720)
        browser.open(f"http://127.0.0.1:{self.port}/?session=company")
        wait_for("the drawing", lambda: browser.run("return document.documentElement.dataset.state === 'drawn'"))
        browser.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.screenshot(os.environ["EBB_SCREENSHOT"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
