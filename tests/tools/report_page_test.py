#!/usr/bin/env python3
"""The pages of --report and `ebb report`, as files and as a browser shows them.

    report_page_test.py EBB

Needs the distribution's chromium and chromium-driver for most tests.  With EBB_PICTURES=DIR it also writes the
pictures of docs/report.md to that folder.
"""

import base64
import gzip
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

from browser import Browser, has_browser, wait_for

EBB = pathlib.Path(sys.argv[1]).resolve()
NOW = "2026-02-01T00:00:00Z"
PICTURES = os.environ.get("EBB_PICTURES", "")
HOSTILE = '</script><img src=x onerror="document.title=1"><!--'
MARKUP = "<img><!--"  # May be a name.
RTL = "abc\u202egnp.exe"
PRICES = """currency: USD
prices:
- {instanceType: m4, hourly: 0.2}
- {instanceType: m8, hourly: 0.4}
- {instanceType: m16, hourly: 0.8}
- {instanceType: m32, hourly: 1.6}
- {instanceType: g16, hourly: 4}
default: 0.6
"""
DRAWN = "return document.documentElement.dataset.state"


def data_of(page):
    """The JSON in a report."""
    element = re.search(r'<script type="application/(json|gzip)" id="data">\n(.*?)\n</script>', page, re.DOTALL)
    text = element[2] if element[1] == "json" else gzip.decompress(base64.b64decode(element[2])).decode()
    return json.loads(text)


def node(name, zone="z1", group="general"):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": "uid-" + name[:100],
                         "labels": {"nodegroup": group, "topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, on, cpu, namespace="default", labels=None):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "uid": "uid-" + name[:100], "namespace": namespace, "labels": labels or {},
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                              "name": "web", "uid": "rs-" + namespace[:100], "controller": True}]},
            "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"phase": "Running"}}


def replica_set(namespace="default", replicas=3):
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "uid": "rs-" + namespace[:100], "namespace": namespace},
            "spec": {"replicas": replicas}, "status": {"replicas": replicas}}


class ReportTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ebb-report-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = None
        if has_browser():
            cls.browser = Browser()
            cls.addClassCleanup(cls.browser.close)
        cls.prices = cls.path("prices.yaml")
        pathlib.Path(cls.prices).write_text(PRICES)
        cls.company = cls.path("company.json")
        cls.ebb("gen", "company", "--nodes", "300", "--seed", "1", "-o", cls.company)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def ebb(cls, *words, code=0):
        result = subprocess.run([EBB, *words], capture_output=True, text=True, check=False)
        if result.returncode != code:
            raise AssertionError(f"ebb {words}: {result.returncode}\n{result.stderr}")
        return result.stdout, result.stderr

    def dump(self, *items):
        file = self.path("dump.json")
        pathlib.Path(file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return file

    def report(self, name, *words, command="plan"):
        """Makes a page with --report.  Returns its path and its text."""
        file = self.path(name)
        self.ebb(command, *words, "--report", file)
        return file, pathlib.Path(file).read_text(encoding="utf-8")

    def show(self, file, width=1280, height=1000, dark=False):
        if self.browser is None:
            self.skipTest("no browser")
        self.browser.set_view(width, height, dark)
        self.browser.open("file://" + file)
        state = wait_for("the drawing", lambda: self.browser.run(DRAWN))
        self.assertEqual(state, "drawn", self.browser.run("return document.documentElement.dataset.error"))
        self.assertEqual(self.browser.errors(), [])
        return self.browser

    def settle(self):
        self.browser.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def picture(self, name, scroll_to=None):
        if scroll_to:
            self.browser.run("document.getElementById(arguments[0]).scrollIntoView()", scroll_to)
        self.settle()
        if PICTURES:
            self.browser.screenshot(os.path.join(PICTURES, name))

    def rows(self, table):
        return self.browser.run("return [...document.querySelectorAll(`#${arguments[0]}-table tbody tr`)].map("
                                "(row) => [...row.cells].map((cell) => cell.textContent))", table)

    # --- The file ---------------------------------------------------------------------------

    def test_the_plan_in_the_page_is_the_plan_as_json(self):
        words = [self.company, "--now", NOW, "--prices", self.prices]
        _, page = self.report("plan.html", *words, "--bound")
        plan = json.loads(self.ebb("plan", *words, "--bound", "-o", "json")[0])
        data = data_of(page)
        self.assertEqual(data["plan"], plan)
        cluster = data["cluster"]
        self.assertEqual(len(cluster["nodes"]), plan["summary"]["nodes"])
        pods = sum(isinstance(each, str) for _, raw, *_ in cluster["nodes"] for each in raw)
        self.assertEqual(pods, plan["summary"]["pods"])
        self.assertEqual([len(each) for each in cluster["waits"]], [len(each["pods"]) for each in plan["remove"]])
        self.assertEqual(len(cluster["keepers"]), len(plan["keep"]))
        # The page makes no request: nothing in it names another place.
        self.assertIn("default-src 'none'", page)
        self.assertNotRegex(page.split('id="data"')[0], r"(src|href)=")

    def test_large_data_is_compressed_and_small_data_is_not(self):
        _, small = self.report("small.html", self.dump(node("a"), node("b"), pod("p", "a", "1"), replica_set()),
                               "--assume-complete")
        self.assertEqual(small.count('type="application/json" id="data"'), 1)
        cluster = self.path("1000.json")
        self.ebb("gen", "company", "--nodes", "1000", "--seed", "1", "-o", cluster)
        large, text = self.report("large.html", cluster, "--assume-complete")
        self.assertEqual(text.count('type="application/gzip" id="data"'), 1)
        # The line that the page names for readers without a browser.
        command = f"sed -n '/^<script type=.*id=\"data\"/{{n;p}}' {large} | base64 -d | gunzip"
        shown = subprocess.run(command, shell=True, capture_output=True, check=True).stdout
        self.assertEqual(json.loads(shown), data_of(text))

    def test_a_page_that_cannot_be_written_is_named_and_nothing_is_printed(self):
        missing = self.path("no/such/folder/r.html")
        for words in (["plan", self.company], ["blockers", self.company], ["frontier", self.company]):
            out, err = self.ebb(*words, "--assume-complete", "--report", missing, code=1)
            self.assertIn(missing, err)
            self.assertEqual(out, "")
        out, err = self.ebb("report", self.company, "--assume-complete", "-o", missing, code=1)
        self.assertIn(missing, err)
        self.ebb("plan", self.company, "--report", self.company, code=1)
        self.assertNotIn("<!doctype", pathlib.Path(self.company).read_text()[:100])
        # A page that was there before stays whole if the input is bad.
        file, before = self.report("kept.html", self.company, "--assume-complete")
        bad = self.path("bad.json")
        pathlib.Path(bad).write_text("{")
        self.ebb("plan", bad, "--report", file, code=1)
        self.assertEqual(pathlib.Path(file).read_text(encoding="utf-8"), before)
        self.assertEqual([name for name in os.listdir(self.folder.name) if "ebb-tmp" in name], [])

    def test_every_command_writes_its_page(self):
        words = [self.company, "--now", NOW, "--prices", self.prices]
        self.assertIn("blockers", data_of(self.report("b.html", *words, "--limit", "2", command="blockers")[1]))
        frontier = self.report("f.html", *words, "--iterations", "1", command="frontier")
        self.assertIn("frontier", data_of(frontier[1]))
        plans = []
        for threshold in ("0.3", "0.5"):
            plans.append(self.path(f"{threshold}.json"))
            pathlib.Path(plans[-1]).write_text(self.ebb(
                "plan", *words, "-o", "json", "--scale-down-utilization-threshold", threshold)[0])
        compared = self.report("c.html", *plans, command="compare")
        self.assertIn("comparison", data_of(compared[1]))
        changes = self.path("what-if.yaml")
        pathlib.Path(changes).write_text("options: {scale-down-utilization-threshold: 0.3}\n")
        tried = self.report("w.html", *words, "--what-if", changes)
        self.assertEqual(set(data_of(tried[1])), {"plan", "cluster", "comparison"})
        made = self.report("s.html", *words[:3], "--state", self.path("state"))
        self.assertIn("deleteNow", data_of(made[1])["plan"])
        for file, _ in (frontier, compared, tried, made):
            self.show(file)
        self.show(compared[0])
        self.assertIn("Nodes that go after and not before", self.browser.text("comparison"))
        self.show(frontier[0])
        self.assertGreater(len(self.rows("points")), 3)

    def test_pages_of_a_daemons_answers(self):
        socket = self.path("e.sock")
        server = subprocess.Popen([EBB, "serve", "--socket", socket, "--log", "none"], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        wait_for("ebb serve", lambda: os.path.exists(socket))
        at = ["--server", "unix:" + socket]
        plan = self.report("at.html", self.company, *at, "--now", NOW)
        self.assertEqual(set(data_of(plan[1])), {"plan"})
        blockers = self.report("at-b.html", *at, "--limit", "3", command="blockers")
        self.assertEqual(set(data_of(blockers[1])), {"blockers"})
        changes = self.path("changes.yaml")
        pathlib.Path(changes).write_text("options: {scale-down-utilization-threshold: 0.3}\n")
        compared = self.report("at-w.html", *at, "--what-if", changes)
        self.assertEqual(set(data_of(compared[1])), {"comparison"})
        self.assertIn("--team-label excludes --server", self.ebb(
            "plan", *at, "--report", plan[0], "--team-label", "x", code=2)[1])
        for file, _ in (plan, blockers, compared):
            self.show(file)
            self.assertRegex(self.browser.text("headline"), "[0-9]+ .*can go")

    def test_simulations_and_replays_are_pages_too(self):
        simulated = self.report("sim.html", "--simulate", "--nodes", "20", "--hours", "2", command="run")[0]
        policies = self.path("policies.html")
        self.ebb("policy", "simulate", "--hours", "2", "--report", policies)
        record = self.path("record.db")
        for minute in ("00", "10", "20"):
            self.ebb("plan", self.company, "--state", self.path("replayed"), "--record", record,
                     "--now", f"2026-02-01T00:{minute}:00Z")
        replayed = self.report("replay.html", record, command="replay")[0]
        parts = "return [...document.querySelectorAll('main > section')].map((each) => each.id)"
        for file, expected, curves in ((simulated, ["time", "figures", "model", "json"], 9),
                                       (policies, ["time", "figures", "json"], 12),
                                       (replayed, ["time", "rounds", "json"], 3)):
            browser = self.show(file, 390, 844)
            self.assertEqual(browser.run(parts), expected)
            self.assertEqual(browser.run("return document.querySelectorAll('svg .line').length"), curves)
            self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 390)
        self.assertEqual(len(self.rows("rounds")), 3)
        self.assertIn("3 of 3 rounds identical", browser.text("headline"))
        browser = self.show(simulated, 1100, 720)
        self.assertIn("saved: ", browser.text("headline"))
        self.picture("simulation.png", "time")

    # --- In a browser ------------------------------------------------------------------------

    def test_all_in_one(self):
        file = self.path("all.html")
        out = self.ebb("report", self.company, "--now", NOW, "--prices", self.prices, "-o", file, "--budget", "1s",
                       "--trials", "3")[0]
        self.assertIn("wrote " + file, out)
        data = data_of(pathlib.Path(file).read_text(encoding="utf-8"))
        summary = data["plan"]["summary"]
        browser = self.show(file, 1100, 720)
        self.assertIn(f"{summary['removed']} of {summary['nodes']} nodes can go", browser.text("headline"))
        self.assertEqual(browser.run("return [...document.querySelectorAll('main > section')].map((each) => each.id)"),
                         ["glance", "map", "use", "money", "keeps", "order", "waves", "check", "frontier", "proof", "nodes", "warnings",
                          "json"])
        self.picture("report.png")
        self.picture("report-money.png", "money")
        self.picture("report-keeps.png", "keeps")
        self.picture("report-order.png", "order")
        # The sums of the tables are those of the plan.
        for table in ("by-group", "by-type", "cost-0"):
            browser.run("document.getElementById(arguments[0])?.click()", f"{table}-more")
            saved = [float(row[-3].replace(",", "").split()[0]) for row in self.rows(table)]
            self.assertAlmostEqual(sum(saved), summary["savedPerHour"], delta=0.01 * len(saved))
        self.assertIn(f"No plan removes more than {summary['bound']['removed']} nodes", browser.text("proof"))
        self.assertIn("3 trials with a scheduler", browser.text("proof"))
        self.assertGreater(len(self.rows("blockers")), 1)
        self.assertEqual(len(self.rows("list-waves")), min(12, summary["waves"]["waves"]))
        self.assertIn(f"{summary['waves']['nodes']} nodes are left", browser.text("waves"))

    def test_purchases_costs_and_assumptions_are_on_the_page(self):
        examples = pathlib.Path(__file__).parents[2] / "examples"
        words = (str(examples / "replace_cluster.yaml"), "--now", NOW, "--prices", str(examples / "prices.yaml"),
                 "--scale-down-utilization-threshold=1", "--replace", "--machine-types", str(examples / "machine_types.yaml"))
        file, page = self.report("replace.html", *words)
        replace = data_of(page)["plan"]["replace"]
        browser = self.show(file, 1100, 720)
        self.assertIn("purchases", browser.run("return [...document.querySelectorAll('main > section')].map((each) => each.id)"))
        self.assertEqual([row[1] for row in self.rows("bought")], ["m8"])
        self.assertEqual([row[0] for row in self.rows("purchase-sides")], ["do nothing", "only remove", "this plan"])
        self.assertIn(replace["assumptions"][0], browser.text("purchases"))
        self.assertIn("the cluster has no such group (UnknownGroup)", browser.text("purchases"))
        # What is saved is less than the removed nodes cost.
        self.assertIn("0.19 USD", browser.text("glance"))
        self.picture("report-purchases.png", "purchases")
        nothing, _ = self.report("nothing.html", *words, "--min-saving", "0.9")
        self.assertIn("Buy nothing: ", self.show(nothing).text("purchases"))

    # Symptom: a page had no money at all if the price of one node was unknown.
    def test_nodes_without_a_price_count_as_0_and_are_named(self):
        file = self.path("some.yaml")
        pathlib.Path(file).write_text("base: builtin\ncurrency: USD\ntypes: {m8: 0.4}\n")
        some, _ = self.report("some.html", self.company, "--now", NOW, "--prices", file)
        browser = self.show(some)
        plan = data_of(pathlib.Path(some).read_text(encoding="utf-8"))["plan"]
        unknown = sum("pricePerHour" not in node for node in plan["remove"] + plan["keep"])
        self.assertGreater(unknown, 1)
        self.assertIn("saved a month", browser.text("glance"))
        for part in ("glance", "money"):
            self.assertIn(f"The price of {unknown} nodes is unknown and counts as 0", browser.text(part))
        saved = [float(row[-3].replace(",", "").split()[0]) for row in self.rows("cost-0")]
        self.assertNotIn("NaN", browser.text("money"))
        self.assertGreater(sum(saved), 0)
        none, _ = self.report("none.html", self.company, "--now", NOW, "--prices", "builtin")
        self.assertIn("No price of these nodes is known", self.show(none).text("money"))

    def test_after_the_plan_each_pod_is_counted_once(self):
        file, page = self.report("use.html", self.company, "--now", NOW)
        self.show(file)
        sums = self.browser.run("return ['before', 'after'].map((when) => nodes.reduce("
                                "(sum, node) => sum + (node[when] ? node[when].cpu : 0), 0))")
        data = data_of(page)
        moves = {entry["node"]: {(pod["namespace"], pod["name"]) for pod in entry["pods"]}
                 for entry in data["plan"]["remove"]}
        daemons = 0
        for name, raw, *_ in data["cluster"]["nodes"]:
            for each in raw if name in moves else []:
                if isinstance(each, int):
                    kind = data["cluster"]["pods"][each]
                elif (data["cluster"]["namespaces"][kind[0]], kind[1] + each) not in moves[name]:
                    daemons += kind[2]
        self.assertGreater(daemons, 0)
        self.assertEqual(sums[0], sums[1] + daemons)

    def test_a_click_and_the_keyboard_show_a_node(self):
        file, page = self.report("click.html", self.company, "--now", NOW)
        browser = self.show(file)
        plan = data_of(page)["plan"]
        going = next(entry for entry in plan["remove"] if entry["pods"])
        browser.run("choose(arguments[0])", going["node"])
        text = browser.text("node-text")
        self.assertIn(f"{going['pods'][0]['namespace']}/{going['pods'][0]['name']}", text)
        self.assertIn("to " + going["pods"][0]["to"], text)
        browser.press("\ue00c")  # Escape.
        self.assertTrue(browser.run("return document.getElementById('node').hidden"))
        blocked = next(entry for entry in plan["keep"] if "blockingPod" in entry)
        browser.run("choose(arguments[0])", blocked["node"])
        self.assertIn(blocked["blockingPod"]["reason"], browser.text("node-text"))
        browser.run("close()")
        # A click into a canvas opens the node that was painted there.
        box = browser.run("const box = rows[0].before.getBoundingClientRect(); return [box.left + 5, box.top + 5]")
        browser.run("rows[0].before.dispatchEvent(new MouseEvent('click', {clientX: arguments[0], clientY: arguments[1]}))", *box)
        self.assertEqual(browser.run("return state.chosen"), browser.run("return rows[0].nodes[0].name"))
        browser.run("close()")
        # With the keyboard: the right arrow moves to the next node, Enter opens it.
        browser.run("rows.find((row) => row.nodes.length > 1).before.focus()")
        browser.press("\ue014", "\ue007")
        second = browser.run("return rows.find((row) => row.nodes.length > 1).nodes[1].name")
        self.assertEqual(browser.run("return document.querySelector('#node h2').textContent"), second)
        self.assertEqual(browser.run("return document.activeElement.id"), "node")

    def test_hostile_names_are_texts(self):
        long = "x" * 10_000_000
        file, page = self.report(
            "hostile.html", self.dump(
                node("a", HOSTILE), node("b", RTL), node("c", "z", HOSTILE), node("d", "z" + long),
                pod(MARKUP, "a", "1", MARKUP, {"team": HOSTILE}), pod("q", "c", "3", labels={"team": long}),
                replica_set(), replica_set(MARKUP, 1)), "--assume-complete", "--prices", self.prices)
        self.assertLess(len(page), 200_000)
        self.assertEqual(page.count("</script"), 2)
        self.assertNotIn("<img", page)
        browser = self.show(file)
        self.assertNotEqual(browser.run("return document.title"), "1")
        self.assertEqual(browser.run("return document.images.length"), 0)
        browser.run("choose('a')")
        text = browser.text("node-text")
        self.assertIn(f"{MARKUP}/{MARKUP}", text)
        self.assertIn(HOSTILE, text)
        self.assertIn("abc\\u202egnp.exe", browser.text("map"))
        self.assertIn("... (10,000,000 bytes", browser.text("cost-5-table"))
        self.assertIn("... (10,000,001 bytes", browser.text("map"))
        self.assertNotIn("\u202e", browser.run("return document.body.textContent"))
        self.assertIn(HOSTILE, browser.text("cost-5-table"))
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 1280)

    def test_the_network_is_out_of_reach(self):
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        browser = self.show(self.report("offline.html", self.company, "--now", NOW)[0])
        blocked = browser.run("return fetch(arguments[0]).then(() => 'sent', () => 'blocked')",
                              f"http://127.0.0.1:{server.server_port}/")
        self.assertEqual(blocked, "blocked")
        self.assertEqual(asked, [])
        self.assertIn("Content Security Policy", " ".join(browser.errors()))

    def test_names_and_roles_for_screen_readers(self):
        browser = self.show(self.report("aria.html", self.company, "--now", NOW, "--prices", self.prices)[0])
        tree = browser.devtools("Accessibility.getFullAXTree")["nodes"]
        focusable = [each for each in tree if not each.get("ignored") and any(
            prop["name"] == "focusable" and prop["value"].get("value") for prop in each.get("properties", []))]
        self.assertGreater(len(focusable), 20)
        nameless = [each["role"]["value"] for each in focusable
                    if not each.get("name", {}).get("value") and each["role"]["value"] != "RootWebArea"]
        self.assertEqual(nameless, [])
        self.assertEqual([each for each in tree if each.get("role", {}).get("value") == "image" and not each["ignored"]
                          and not each["name"]["value"]], [])
        self.assertTrue(browser.run("return document.documentElement.lang"))
        self.assertEqual(browser.run("return document.querySelectorAll('h1').length"), 1)
        self.assertEqual(browser.run("return [...document.querySelectorAll('table')].filter((each) => !each.caption && "
                                     "!document.getElementById(each.getAttribute('aria-labelledby'))).length"), 0)
        self.assertEqual(browser.run("const ids = [...document.querySelectorAll('[id]')].map((each) => each.id); "
                                     "return ids.filter((id, at) => ids.indexOf(id) !== at)"), [])

    def contrast(self, selector):
        return self.browser.run("""
            const style = getComputedStyle(document.querySelector(arguments[0]));
            const ground = getComputedStyle(document.body).backgroundColor;
            const light = (text) => {
              const [r, g, b] = text.match(/[\\d.]+/g).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
              return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const [a, b] = [light(style.color), light(ground)].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);""", selector)

    def test_phone_and_dark(self):
        file, _ = self.report("phone.html", self.company, "--now", NOW, "--prices", self.prices, "--bound")
        for dark in (False, True):
            browser = self.show(file, 390, 844, dark)
            self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 390)
            for text in ("p.note", "nav a", "#headline", "dt", "button.link"):
                self.assertGreaterEqual(self.contrast(text), 4.5, (text, dark))
            if not dark:
                self.picture("report-phone.png", "map")
            browser.run("choose(data.plan.remove.find((entry) => entry.pods.length).node)")
            self.assertLessEqual(browser.run("return document.getElementById('node').getBoundingClientRect().right"), 390)
            self.picture("report-phone-node.png")
        browser = self.show(file, 1100, 720, dark=True)
        self.picture("report-dark.png", "map")

    def test_print_is_light_and_has_every_section(self):
        browser = self.show(self.report("print.html", self.company, "--now", NOW)[0], dark=True)
        browser.run("addEventListener('beforeprint', () => { window.printed = palette().ink; })")
        self.assertTrue(browser.print().startswith(b"%PDF"))
        self.assertEqual(browser.run("return window.printed"), "#1d2023")
        self.assertFalse(browser.run("return 'print' in document.documentElement.dataset"))

    def test_the_order_waits_for_budgets(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                  "metadata": {"name": "web", "namespace": "default"},
                  "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                  "status": {"disruptionsAllowed": 1, "currentHealthy": 4, "desiredHealthy": 3, "expectedPods": 4}}
        pods = [pod(f"p-{i}", on, "500m", labels={"app": "web"}) for i, on in enumerate("aabb")]
        file, page = self.report("order.html", self.dump(
            *[node(name) for name in "abcd"], *pods, pod("r", "c", "3"), pod("s", "d", "3"), budget, replica_set(replicas=6)),
            "--assume-complete")
        removed = data_of(page)["plan"]["remove"]
        self.assertEqual([len(entry["pods"]) for entry in removed], [2])
        self.show(file)
        # One disruption at a time, 60 seconds each.
        self.assertEqual(self.rows("drains")[0][3:5], ["0 s", "2 min"])
        self.assertEqual(self.rows("drains")[0][-1], "default/web")
        self.browser.run("const input = document.getElementById('ready'); input.value = '10'; input.onchange()")
        self.assertEqual(self.rows("drains")[0][3:5], ["0 s", "20 s"])

    def test_parts_that_the_page_does_not_know_are_tables(self):
        plan = json.loads(self.ebb("plan", self.company, "--now", NOW, "-o", "json")[0])
        plan["news"] = [{"one": 1, "two": 3, "nodes": ["x", "y"]}, {"one": 2, "two": 1, "nodes": ["z"]}]
        plan["summary"]["more"] = {"costPerHour": 12.5, "pods": {"withoutRequests": 3}}
        before, after = self.path("before.json"), self.path("after.json")
        for file in (before, after):
            pathlib.Path(file).write_text(json.dumps(plan))
        self.show(self.report("unknown.html", before, after, command="compare")[0])
        self.assertEqual(self.rows("list-news"), [["1", "3", "x, y"], ["2", "1", "z"]])
        self.assertEqual(self.rows("summary-more"), [["12.50", "3"]])

    def test_find_and_sort(self):
        self.show(self.report("find.html", self.company, "--now", NOW)[0])
        self.browser.run("const find = document.getElementById('find'); find.value = 'gpu-'; find.oninput()")
        self.assertTrue(all("gpu-" in row[0] for row in self.rows("all")))
        self.browser.run("const find = document.getElementById('find'); find.value = ''; find.oninput(); "
                         "document.getElementById('all-by-2').click()")
        shown = [float(row[2].rstrip("%")) for row in self.rows("all")]
        self.assertEqual(shown, sorted(shown, reverse=True))
        self.browser.run("document.getElementById('all-more').click()")
        self.assertEqual(len(self.rows("all")), self.browser.run("return nodes.length"))

    def test_15_000_nodes(self):
        large = self.path("large.pb")
        self.ebb("gen", "company", "--nodes", "15000", "--seed", "1", "-o", large)
        file, page = self.report("15000.html", large, "--now", NOW, "--prices", self.prices)
        self.assertLess(len(page), 6_000_000)
        browser = self.show(file)
        self.assertGreaterEqual(browser.run("return nodes.length"), 15000)
        # No section puts all nodes into the document.
        self.assertLess(browser.run("return document.querySelectorAll('*').length"), 10_000)
        self.settle()
        painted = browser.run("const {width, height} = rows[0].before; return [...rows[0].before.getContext('2d')"
                              ".getImageData(0, 0, width, height).data].some((value) => value > 0)")
        self.assertTrue(painted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
