"""The Grafana dashboard and the alert rules of the chart name only metrics and labels that the programs export.

Usage: dashboards_test.py EBB SOURCE

If promtool is installed, it checks the rules and every expression of the dashboard, too.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import yaml

EBB = ""
SOURCE = pathlib.Path()
# The files outside daemon/ that define metrics.
DEFINED_IN = ("rounds/metrics.cc", "loop/run/loop_metrics.cc", "go/kube/metrics/metrics.go", "go/kube/actuate/actuator.go")
# Labels and metrics that Prometheus adds itself.
OF_PROMETHEUS = {"up", "job", "instance", "le"}
METRIC = re.compile(r"\b((?:ebb|cluster_autoscaler|process)_[a-z_]+|up)\b")


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def literals():
    """All short texts of the sources that define metrics."""
    texts = set()
    for path in sorted((SOURCE / "daemon").glob("*.cc")) + [SOURCE / name for name in DEFINED_IN]:
        text = path.read_text()
        texts |= set(re.findall(r'"([a-z_]+)"', text))
        texts |= {"ebb_kube_" + name for name in re.findall(r'desc\("([a-z_]+)"', text)}
    return texts


class DashboardsTest(unittest.TestCase):
    def setUp(self):
        files = SOURCE / "packaging" / "helm" / "ebb" / "files"
        self.rules = [rule for group in yaml.safe_load((files / "alerts.yaml").read_text())["groups"]
                      for rule in group["rules"]]
        self.rules_file = files / "alerts.yaml"
        self.dashboard = json.loads((files / "dashboard.json").read_text())
        self.queries = {f"panel {panel['title']}": target["expr"].replace("$session", ".*")
                        for panel in self.dashboard["panels"] for target in panel["targets"]}
        self.expressions = {**self.queries, **{rule["alert"]: rule["expr"] for rule in self.rules}}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def exported(self):
        """The types of metrics that a round and a daemon print."""
        cluster = self.folder / "cluster.json"
        subprocess.run([EBB, "gen", "company", "--nodes", "20", "-o", cluster], check=True, capture_output=True)
        text = subprocess.run([EBB, "plan", cluster, "--state", self.folder / "s.db", "-o", "name", "--metrics", "-"],
                              check=True, capture_output=True, text=True).stdout
        pages = self.folder / "pages"
        ebb = self.folder / "ebb.sock"
        daemon = subprocess.Popen([EBB, "serve", "--socket", ebb, "--metrics-socket", pages, "--log", "json"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while not (ebb.exists() and pages.exists()):
                self.assertIsNone(daemon.poll(), "the daemon ended")
            subprocess.run([EBB, "plan", cluster, "--server", f"unix:{ebb}"], check=True, capture_output=True)
            connection = Connection(pages)
            connection.request("GET", "/metrics")
            text += connection.getresponse().read().decode()
            connection.close()
        finally:
            daemon.terminate()
            daemon.communicate()
        return dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", text))

    def test_every_metric_is_exported(self):
        types = self.exported()
        known = literals() | set(types) | OF_PROMETHEUS
        used = set()
        for name, expression in self.expressions.items():
            for metric in METRIC.findall(expression):
                used.add(metric)
                base = re.sub(r"_(bucket|sum|count)$", "", metric)
                if base != metric and metric not in known:
                    self.assertEqual(types.get(base), "histogram", f"{name}: {metric}")
                else:
                    self.assertIn(metric, known, name)
        self.assertGreater(len(used & set(types)), 10, "these tests look for no metrics")
        self.assertNotIn("ebb_no_such_total", known)

    def test_every_label_is_exported(self):
        known = literals() | OF_PROMETHEUS
        labels = set()
        for name, expression in self.expressions.items():
            used = {label.strip() for each in re.findall(r"by \(([^)]*)\)", expression) for label in each.split(",")}
            for each in re.findall(r"\{([^}]*)\}", expression):
                used |= set(re.findall(r"([a-z_]+)(?:=~|!~|!=|=)", each))
            for label in used:
                self.assertIn(label, known, f"{name}: {label}")
            labels |= used
        for panel in self.dashboard["panels"]:
            for target in panel["targets"]:
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    self.assertIn(label, known, panel["title"])
        for rule in self.rules:
            for label in re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())):
                self.assertIn(label, known, rule["alert"])
        self.assertGreater(len(labels), 5)

    def test_the_dashboard_has_what_grafana_needs(self):
        panels = self.dashboard["panels"]
        ids = [panel["id"] for panel in panels]
        self.assertEqual(len(set(ids)), len(panels))
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
        self.assertEqual([each["name"] for each in self.dashboard["templating"]["list"]], ["datasource", "session"])

    def test_every_alert_says_what_is_wrong(self):
        names = [rule["alert"] for rule in self.rules]
        self.assertEqual(len(set(names)), len(names))
        for rule in self.rules:
            self.assertEqual(set(rule["annotations"]), {"summary", "description"}, rule["alert"])
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
        page = (SOURCE / "docs" / "dashboards.md").read_text()
        for name in names:
            self.assertIn(f"`{name}`", page)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_accepts_rules_and_expressions(self):
        recorded = self.folder / "queries.yaml"
        recorded.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": [
            {"record": f"query:{number}", "expr": expression}
            for number, expression in enumerate(self.queries.values())]}]}))
        for path in (self.rules_file, recorded):
            ran = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        # What fires, and what does not.
        tests = self.folder / "tests.yaml"
        round_time = 'ebb_loop_last_round_time{job="ebb"}'
        failed = 'ebb_loop_deletions_total{result="failed"}'
        cases = [("EbbNoRound", [(round_time, "1+0x40")], True), ("EbbNoRound", [(round_time, "0+60x40")], False),
                 ("EbbDown", [('up{job="ebb"}', "0+0x40")], True), ("EbbDown", [('up{job="ebb"}', "1+0x40")], False),
                 ("EbbDown", [('up{job="other"}', "0+0x40")], False),
                 ("EbbDeletionsFail", [(failed, "0+1x40")], True), ("EbbDeletionsFail", [(failed, "5+0x40")], False),
                 ("EbbFeedLost", [('ebb_kube_feed_connected{job="ebb"}', "0+0x40")], True),
                 ("EbbFeedLost", [('ebb_kube_feed_connected{job="ebb"}', "1+0x40")], False),
                 ("EbbNoActiveReplica", [('ebb_kube_active{job="ebb"}', "0+0x40")], True),
                 ("EbbNoActiveReplica", [('ebb_kube_active{job="ebb",instance="a"}', "0+0x40"),
                                         ('ebb_kube_active{job="ebb",instance="b"}', "1+0x40")], False),
                 ("EbbSessionEmpty", [('ebb_session_nodes{session="default"}', "0+0x40")], True),
                 ("EbbSessionEmpty", [('ebb_session_nodes{session="default"}', "9+0x40")], False)]
        for alert, series, fires in cases:
            test = {"rule_files": [str(self.rules_file)], "evaluation_interval": "1m", "tests": [{
                "interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series],
                "alert_rule_test": [{"eval_time": "40m", "alertname": alert, "exp_alerts": []}]}]}
            tests.write_text(yaml.safe_dump(test))
            ran = subprocess.run(["promtool", "test", "rules", tests], capture_output=True, text=True, check=False)
            # No alert is expected, so the test fails where one fires.
            self.assertEqual(ran.returncode != 0, fires, f"{alert} {series}\n{ran.stdout}{ran.stderr}")


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(2)).resolve()
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
