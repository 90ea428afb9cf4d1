"""A headless browser for tests of pages: the distribution's chromium, used through the WebDriver protocol."""

import base64
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.request

WAIT_S = 60


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, get):
    end = time.monotonic() + WAIT_S
    while not (got := get()):
        if time.monotonic() > end:
            raise AssertionError("waited in vain for " + what)
        time.sleep(0.05)
    return got


def has_browser():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """A chromedriver, used through the WebDriver protocol."""

    def __init__(self):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def is_ready():
            with contextlib.suppress(OSError):
                return self.call("GET", "/status")["ready"]
        wait_for("chromedriver", is_ready)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-quic", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--window-size=1400,1000"]
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}}})
        self.session = f"/session/{session['sessionId']}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
            return json.load(reply)["value"]

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def text(self, element):
        return self.run("return document.getElementById(arguments[0]).textContent", element)

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def errors(self):
        """What the console has of errors, such as a violation of the content security policy."""
        log = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [each["message"] for each in log if each["level"] == "SEVERE"]

    def set_view(self, width, height=1000, dark=False, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                      mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path):
        picture = self.call("GET", self.session + "/screenshot")
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.call("POST", self.session + "/print", {"background": True}))

    def close(self):
        with contextlib.suppress(OSError):
            self.call("DELETE", self.session)
        self.driver.kill()
        self.driver.wait()
