#!/usr/bin/env python3
"""The script of `ebb plan -o sh` and the commands of `-o patch`, run with programs that stand in for kubectl and the clouds' own.

    script_test.py EBB [UNITTEST_ARGUMENT...]
"""

import copy
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ebb_command_test as base  # noqa: E402
from ebb_command_test import START, node, pod  # noqa: E402

# Writes each call to calls.txt and answers from files in the folder of the test.
FAKE = r"""#!/bin/sh
cd "$(dirname "$0")/.." || exit 9
name=${0##*/}
printf '%s' "$name" >>calls.txt
for word; do printf ' %s' "$word" >>calls.txt; done
printf '\n' >>calls.txt
case "$name $*" in
*metadata.uid*) word=${2#node/}; [ -e "uid.$word" ] && cat "uid.$word" || printf 'uid-%s' "$word" ;;
*status.phase=Pending*) [ ! -e drained ] || cat pending.txt 2>/dev/null || : ;;
*"get nodeclaims"*) cat claims.txt ;;
*/machine\}*) printf machine-1 ;;
*cluster-namespace*) printf space ;;
*deployment-name*) printf workers ;;
*spec.replicas*) printf 3 ;;
*created-by*) cat created-by.txt ;;
*drain*) touch drained; [ ! -e fail-drain ] ;;
esac
"""


def owned(what, kind, name):
    what = copy.deepcopy(what)
    what["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u-" + name, "controller": True}]
    return what


def with_owners(items):
    """The items, and the objects that own their pods."""
    owners = {}
    for item in items:
        for owner in item["metadata"].get("ownerReferences", []):
            meta = {"name": owner["name"], "namespace": item["metadata"]["namespace"], "uid": owner["uid"]}
            owners[owner["kind"], meta["namespace"], meta["name"]] = {
                "apiVersion": "apps/v1", "kind": owner["kind"], "metadata": meta, "spec": {"replicas": 3},
                "status": {"replicas": 3}}
    return [*items, *owners.values()]


def machine(name, provider_id="", **labels):
    made = node(name)
    made["spec"]["providerID"] = provider_id
    for key, value in labels.items():
        made["metadata"]["labels"][key] = value
    return made


def with_volume(what, **source):
    what["spec"]["volumes"] = [{"name": "v", **source}]
    return what


def grace(what, seconds):
    what["spec"]["terminationGracePeriodSeconds"] = seconds
    return what


# A node with room that stays.
ROOM = [node("z-room", cpu="64"), pod("stays", "z-room", cpu="40", safe=False)]


class ScriptTest(base.EbbTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        for name in ("kubectl", "aws", "gcloud", "az"):
            fake = self.write("bin/" + name, FAKE)
            os.chmod(fake, 0o755)

    def script(self, items, form="sh", *words, name="plan.sh"):
        text = self.ebb("plan", self.dump(with_owners(items)), "--assume-complete", "--now", START, "-o", form, *words)[0]
        return self.write(name, text), text

    def run_script(self, file, *words, code=0, shell="sh", checks="3"):
        """Returns the calls and standard error."""
        calls = self.path("calls.txt")
        if os.path.exists(calls):
            os.remove(calls)
        done = subprocess.run([shell, file, *words], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"],
                                   "CHECK_SECONDS": "0", "PENDING_CHECKS": checks})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if not os.path.exists(calls):
            return [], done.stderr
        with open(calls, encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if not line.startswith(" ")], done.stderr

    def acts(self, calls):
        """The calls that change something, without those that only read."""
        return [call for call in calls if " get " not in call and " describe " not in call]

    # Symptom: kubectl drain waited for the budget of a pod that Karpenter does not evict.
    def check_who_drains(self, karpenter):
        self.write("claims.txt", "karpenter claim-1\n")
        for tolerations, budget, drains in (([{"operator": "Exists"}], True, False), ([{"operator": "Exists"}], False, True),
                                            ([{"key": "other", "operator": "Exists"}], False, True)):
            web = owned(pod("q", "karpenter", cpu="100m"), "ReplicaSet", "web")
            web["metadata"]["labels"] = {"app": "web"}
            web["spec"]["tolerations"] = tolerations
            items = [karpenter, web, *ROOM]
            if budget:
                items.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                              "metadata": {"name": "web", "namespace": "default", "uid": "u-b"},
                              "spec": {"selector": {"matchLabels": {"app": "web"}}}, "status": {"disruptionsAllowed": 0}})
            file, text = self.script(items)
            calls = self.acts(self.run_script(file)[0])
            self.assertEqual(any("kubectl drain node/karpenter" in call for call in calls), drains, text)
            self.assertEqual("Karpenter drains this node: default/q tolerates the taint karpenter.sh/disrupted" in text, not drains)
            self.assertIn("kubectl delete nodeclaims.karpenter.sh claim-1 --timeout=15m", calls)

    def two_nodes(self):
        return [node("a"), node("b"), *ROOM, pod("p", "a"), owned(pod("q", "b"), "ReplicaSet", "web")]

    def test_it_cordons_all_and_then_drains_and_deletes_one_after_the_other(self):
        file, _ = self.script(self.two_nodes())
        for shell in filter(shutil.which, ("sh", "bash", "dash")):
            calls, said = self.run_script(file, shell=shell)
            self.assertEqual(self.acts(calls), [
                "kubectl cordon node/a node/b",
                "kubectl drain node/a --timeout=900s --force",
                "kubectl delete node/a --ignore-not-found",
                "kubectl drain node/b --timeout=900s",
                "kubectl delete node/b --ignore-not-found"])
            self.assertIn("1 of 2: a", said)
            self.assertIn("Done.", said)
            os.remove(self.path("drained"))

    def test_the_lines_of_the_docs_carry_a_plan_out(self):
        with open(os.path.join(base.DOCS, "by-hand.md"), encoding="utf-8") as page:
            lines = page.read().split("```\n")[1]
        self.dump(with_owners(self.two_nodes()), name="cluster.json")
        os.symlink(base.EBB, self.path("bin/ebb"))
        less = self.write("bin/less", "#!/bin/sh\ncat \"$@\"\n")
        os.chmod(less, 0o755)
        file = self.write("docs.sh", f"set -eu\ncd {self.folder.name}\n{lines}")
        calls, _ = self.run_script(file)
        self.assertEqual(self.acts(calls)[0], "kubectl cordon node/a node/b")
        self.assertEqual(self.acts(calls)[-1], "kubectl delete node/b --ignore-not-found")

    def test_it_stops_when_new_pods_stay_pending(self):
        file, _ = self.script(self.two_nodes())
        self.write("pending.txt", "shop/web-1\n")
        calls, said = self.run_script(file, code=1)
        self.assertIn("Stopped: after node/a pods stay pending: shop/web-1", said)
        self.assertIn("--undo", said)
        self.assertNotIn("kubectl drain node/b", "\n".join(calls))
        pending = [call for call in calls if "status.phase=Pending" in call]
        self.assertEqual(len(pending), 1 + 4)  # Before the first drain, and four checks after it.

    def test_pods_that_were_pending_before_do_not_stop_it(self):
        file, _ = self.script(self.two_nodes())
        self.write("pending.txt", "shop/web-1\nshop/web-2\n")
        self.write("drained", "")  # They are pending from the beginning.
        self.assertIn("Done.", self.run_script(file)[1])
        self.write("drained", "")

    def test_it_stops_before_anything_at_another_cluster(self):
        file, _ = self.script(self.two_nodes())
        self.write("uid.b", "another")
        calls, said = self.run_script(file, code=1)
        self.assertIn("node/b is not the node of the plan: its UID is another", said)
        self.assertEqual(self.acts(calls), [])

    def test_it_stops_when_a_drain_fails(self):
        file, _ = self.script(self.two_nodes())
        self.write("fail-drain", "")
        calls, said = self.run_script(file, code=1)
        self.assertIn("node/a cannot be drained", said)
        self.assertNotIn("kubectl delete", "\n".join(calls))

    def test_undo_uncordons_and_does_nothing_else(self):
        file, _ = self.script(self.two_nodes())
        self.assertEqual(self.run_script(file, "--undo")[0], ["kubectl uncordon node/a", "kubectl uncordon node/b"])
        self.assertEqual(self.run_script(file, "--no-such", code=2)[0], [])

    def test_a_drain_has_the_flags_that_the_pods_of_its_node_need(self):
        agent = owned(pod("agent", "a", cpu="10m"), "DaemonSet", "agent")
        with_volume(agent, emptyDir={})  # Drains do not evict it, so its volume needs no flag.
        shm = owned(pod("shm", "b"), "ReplicaSet", "shm")
        with_volume(shm, emptyDir={"medium": "Memory"})
        slow = grace(owned(pod("slow", "c"), "ReplicaSet", "slow"), 7200)
        mirror = pod("static", "d", cpu="10m")
        mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"
        _, text = self.script([node("a"), node("b"), node("c"), node("d"), *ROOM, agent, shm, slow, mirror])
        drains = sorted(line for line in text.splitlines() if line.startswith("drain "))
        self.assertEqual(drains, [
            "drain 'node/a' 900s --ignore-daemonsets",
            "drain 'node/b' 900s --delete-emptydir-data",
            "drain 'node/c' 7800s",
            "drain 'node/d' 900s"])

    def test_each_provider_has_its_command(self):
        zone = {"topology.kubernetes.io/zone": "us-east-1a"}
        azure = ("azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/"
                 "virtualMachineScaleSets/set/virtualMachines/7")
        self.write("created-by.txt", "projects/1/zones/z-a/instanceGroupManagers/group\n")
        self.write("claims.txt", "other claim-0\nkarpenter claim-1\n")
        cases = {
            "aws": (machine("aws", "aws:///us-east-1a/i-0ab", **zone), [
                "aws autoscaling terminate-instance-in-auto-scaling-group --region us-east-1 --instance-id i-0ab"
                " --should-decrement-desired-capacity",
                "kubectl delete node/aws --ignore-not-found"]),
            "gce": (machine("gce", "gce://project/z-a/vm-1"), [
                "gcloud compute instance-groups managed delete-instances group --project=project --zone=z-a"
                " --instances=vm-1 --quiet",
                "kubectl delete node/gce --ignore-not-found"]),
            "azure": (machine("azure", azure), [
                "az vmss delete-instances --subscription s --resource-group g --name set --instance-ids 7",
                "kubectl delete node/azure --ignore-not-found"]),
            "karpenter": (machine("karpenter", "aws:///us-east-1a/i-1", **{"karpenter.sh/nodepool": "d"}), [
                "kubectl delete nodeclaims.karpenter.sh claim-1 --timeout=15m",
                "kubectl wait --for=delete node/karpenter --timeout=15m"]),
            "capi": (machine("capi", "vsphere://1", **{"node.cluster.x-k8s.io/pool": "d"}), [
                "kubectl annotate machines.cluster.x-k8s.io machine-1 -n space --overwrite"
                " cluster.x-k8s.io/delete-machine=yes",
                "kubectl scale machinedeployments.cluster.x-k8s.io workers -n space --current-replicas=3"
                " --replicas=2",
                "kubectl wait --for=delete node/capi --timeout=15m"]),
            "unknown": (machine("unknown", "metal://1"), ["kubectl delete node/unknown --ignore-not-found"]),
        }
        for name, (item, acts) in cases.items():
            with self.subTest(name):
                file, text = self.script([item, *ROOM])
                self.assertEqual(self.acts(self.run_script(file)[0]),
                                 [f"kubectl cordon node/{name}", f"kubectl drain node/{name} --timeout=900s", *acts])
                self.assertEqual("Remove the machine" in text, name == "unknown")
        self.write("created-by.txt", "projects/1/regions/r-1/instanceGroupManagers/group\n")
        file, _ = self.script([cases["gce"][0], *ROOM])
        self.assertIn("--region=r-1", "\n".join(self.run_script(file)[0]))
        self.write("created-by.txt", "")
        self.assertIn("of no managed instance group", self.run_script(file, code=1)[1])
        self.check_who_drains(cases["karpenter"][0])
        self.write("claims.txt", "other claim-0\n")
        file, _ = self.script([cases["karpenter"][0], *ROOM])
        self.assertIn("no NodeClaim has node/karpenter", self.run_script(file, code=1)[1])

    def test_a_command_that_is_missing_stops_it_before_anything(self):
        file, _ = self.script([machine("a", "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/"
                                            "virtualMachineScaleSets/set/virtualMachines/7"), *ROOM])
        os.remove(self.path("bin/az"))
        if shutil.which("az"):
            self.skipTest("the real az is installed")
        calls, said = self.run_script(file, code=1)
        self.assertIn("az is not installed", said)
        self.assertEqual(calls, [])

    def test_hostile_names_run_nothing(self):
        evil = "$(touch owned)`touch owned`';touch owned;'\n touch owned\n#"
        hostile = machine("a", f"aws:///{evil}/i-0", **{"node.kubernetes.io/instance-type": evil, "nodegroup": evil})
        file, text = self.script([hostile, *ROOM])
        self.assertIn("Done.", self.run_script(file)[1])
        evil = "$(touch${IFS}owned)`touch${IFS}owned`';touch${IFS}owned;'#"
        file, text = self.script([node(evil), *ROOM, pod("p", evil)])
        calls, said = self.run_script(file, code=1)
        self.assertIn("a name that Kubernetes does not allow", said)
        self.assertEqual(calls, [])
        option = pod("--all", "a")
        file, text = self.script([node("a"), *ROOM, owned(option, "ReplicaSet", "r")], "patch")
        self.assertIn("Not annotated", text)
        self.run_script(file)
        self.assertFalse(os.path.exists(self.path("owned")) or os.path.exists("owned"))

    def test_nothing_to_do_and_what_may_not_be_carried_out(self):
        busy = [node("a", cpu="1"), pod("p", "a", cpu="900m", safe=False)]
        file, _ = self.script(busy)
        self.assertEqual(self.run_script(file)[0], [])
        dump = self.dump([node("a"), pod("p", "a")], says_none=False)
        for form in ("sh", "patch"):
            self.assertIn("budgets", self.ebb("plan", dump, "-o", form, code=1)[1].lower())
            self.assertIn("not a format of rounds", self.ebb(
                "plan", dump, "--assume-complete", "--state", self.path("s.db"), "-o", form, code=2)[1])
            self.assertIn("not a format of explanations", self.ebb(
                "plan", dump, "--assume-complete", "--explain", "a", "-o", form, code=2)[1])

    def test_shellcheck_has_nothing_to_say(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        azure = ("azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/"
                 "virtualMachineScaleSets/set/virtualMachines/7")
        every = [machine("a", "aws:///us-east-1a/i-0ab", **{"topology.kubernetes.io/zone": "us-east-1a"}),
                 machine("b", "gce://project/z-a/vm-1"), machine("c", azure),
                 machine("d", **{"karpenter.sh/nodepool": "d"}),
                 machine("e", **{"node.cluster.x-k8s.io/pool": "d"}), machine("f"), *ROOM,
                 owned(pod("p", "a"), "ReplicaSet", "web")]
        whole, text = self.script(every)
        for provider in ("karpenter", "cluster_api", "aws", "gce", "azure", "node"):
            self.assertIn(f"\nremove_{provider}() {{", text)
        patch, _ = self.script(every, "patch", name="patch.sh")
        small, _ = self.script([machine("f"), *ROOM], name="small.sh")
        none, _ = self.script([node("a", cpu="1"), pod("p", "a", cpu="900m", safe=False)], name="none.sh")
        done = subprocess.run(["shellcheck", "--shell=sh", whole, small, patch, none], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 0)

    def test_the_patch_annotates_pods_of_replica_sets_alone(self):
        first, second = owned(pod("web-1", "a"), "ReplicaSet", "web"), owned(pod("web-2", "b"), "ReplicaSet", "web")
        more = owned(pod("web-3", "b"), "ReplicaSet", "web")
        more["metadata"]["namespace"] = "other"
        items = [node("a"), node("b"), *ROOM, first, second, more, owned(pod("db-0", "b"), "StatefulSet", "db"),
                 pod("bare", "b", cpu="100m")]
        file, text = self.script(items, "patch")
        self.assertIn("3 pods are annotated", text)
        self.assertIn("1 pod of StatefulSet: default/db-0", text)
        self.assertIn("1 pod of nothing: default/bare", text)
        cost = "controller.kubernetes.io/pod-deletion-cost="
        self.assertEqual(self.run_script(file)[0], [
            f"kubectl annotate pods -n default --overwrite web-1 {cost}-2",
            f"kubectl annotate pods -n default --overwrite web-2 {cost}-1",
            f"kubectl annotate pods -n other --overwrite web-3 {cost}-1"])


if __name__ == "__main__":
    base.EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
