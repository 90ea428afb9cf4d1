#!/usr/bin/env python3
"""What answers report about objects that ebb did not evaluate, assumed or skipped.

    disclosure_test.py EBB [UNITTEST_ARGUMENT...]
"""

import copy
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ebb_command_test as base  # noqa: E402
from ebb_command_test import START, annotated, karpenter, node, pod  # noqa: E402

PROTECTED = "karpenter.sh/do-not-disrupt"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def custom(api_version, kind, name, namespace="", **spec):
    meta = {"name": name, "uid": f"uid-{kind}-{name}"}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def owned(what, api_version, kind, name="owner"):
    what = copy.deepcopy(what)
    what["metadata"]["ownerReferences"] = [
        {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u-" + name, "controller": True}]
    return what


def started(what, when):
    what = copy.deepcopy(what)
    what["status"]["startTime"] = when
    return what


def labelled(what, **labels):
    what = copy.deepcopy(what)
    what["metadata"].setdefault("labels", {}).update(labels)
    return what


def budget(name, allowed, app, **status):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default", "uid": "uid-pdb-" + name},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed, **status}}


def replicated(name, on, app):
    """A pod of a ReplicaSet, so that budgets apply to it."""
    return owned(labelled(pod(name, on, safe=False), app=app), "apps/v1", "ReplicaSet", "rs")


REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
               "metadata": {"name": "rs", "namespace": "default", "uid": "u-rs"},
               "spec": {"replicas": 3}, "status": {"replicas": 3}}


class DisclosureTest(base.EbbTest):

    def plan(self, items, *words):
        out, err = self.ebb("plan", self.dump(items), "--assume-complete", "--now", START, *words,
                            "-o", "json")
        plan = json.loads(out)
        with open(os.path.join(base.DOCS, "plan.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        self.assertEqual(base.schema_errors(plan, schema, schema), [])
        return plan, err

    def warnings(self, plan):
        return {w["code"]: w["message"] for w in plan["summary"].get("warnings", [])}

    def explain(self, items, name, *words):
        args = ["plan", self.dump(items), "--assume-complete", "--now", START, "--explain", name, *words]
        text = self.ebb(*args)[0]
        data = json.loads(self.ebb(*args, "-o", "json")[0])
        with open(os.path.join(base.DOCS, "explain.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        self.assertEqual(base.schema_errors(data, schema, schema), [])
        return text, data["nodes"][0]

    CLUSTER = [node("a"), node("b"), node("c"), pod("p", "a")]

    # --- Kinds and fields that are not evaluated

    def test_kinds_that_may_matter_are_named_with_their_number(self):
        cluster = self.CLUSTER + [
            custom("karpenter.sh/v1alpha5", "Provisioner", "spot"), custom("karpenter.sh/v1alpha5", "Provisioner", "general"),
            custom("autoscaling.x-k8s.io/v1beta1", "ProvisioningRequest", "web", "shop"),
            custom("kueue.x-k8s.io/v1beta1", "Workload", "train", "ml"),
            custom("machine.openshift.io/v1beta1", "MachineSet", "workers", "openshift-machine-api"),
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"},
            custom("karpenter.k8s.aws/v1", "EC2NodeClass", "default"),
            custom("apps/v1", "Deployment", "web", "shop")]
        plan, err = self.plan(cluster)
        warnings = self.warnings(plan)
        self.assertEqual(set(warnings) - {"MinimumAssumed"},
                         {"NodePoolsNotEvaluated", "ProvisioningRequestsNotEvaluated", "PodGroupsNotEvaluated",
                          "GroupSizesNotEvaluated", "SchedulerConfigurationNotEvaluated"})
        self.assertIn("2 Provisioners (general and 1 more) are not evaluated", warnings["NodePoolsNotEvaluated"])
        self.assertIn("1 ProvisioningRequest (shop/web) is not", err)
        self.assertIn("KubeSchedulerConfiguration", err)

    def test_a_strict_plan_fails_on_unevaluated_objects(self):
        cluster = self.CLUSTER + [custom("karpenter.sh/v1alpha5", "Provisioner", "spot")]
        self.ebb("plan", self.dump(cluster), "--assume-complete", "--strict", "--nodes", "0:9:ng",
                 "--now", START, code=1)

    def test_a_snapshot_keeps_unevaluated_objects(self):
        cluster = self.CLUSTER + [custom("karpenter.sh/v1alpha5", "Provisioner", "spot")]
        for name in ("s.pb", "s.json", "s.yaml"):
            self.ebb("import", self.dump(cluster), "-o", self.path(name))
            out = self.ebb("plan", self.path(name), "--assume-complete", "--now", START, "-o", "json")[0]
            self.assertIn("NodePoolsNotEvaluated", self.warnings(json.loads(out)), name)

    def gang(self, **group):
        pods = []
        for i, name in enumerate("ab"):
            member = replicated("train-%d" % i, name, "train")
            member["spec"]["schedulingGroup"] = {"podGroupName": "train"}
            pods.append(member)
        groups = [{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
                   "metadata": {"name": "train", "namespace": "default"}, "spec": group}] if group else []
        return self.CLUSTER + [REPLICA_SET] + pods + groups

    def test_a_group_that_is_missing_is_named_and_its_pods_stay(self):
        plan, _ = self.plan(self.gang())
        self.assertIn("pods name 1 group that the input lacks, PodGroup default/train",
                      self.warnings(plan)["PodGroupsMissing"])
        self.assertEqual([r["node"] for r in plan["remove"] if r["node"] in "ab"], [])
        self.assertEqual(plan["summary"]["gangs"][0]["name"], "default/train")
        self.assertEqual(plan["summary"]["gangs"][0]["pods"], 2)

    def test_a_gang_of_which_the_input_has_a_part_is_named(self):
        plan, _ = self.plan(self.gang(schedulingPolicy={"gang": {"minCount": 3}}))
        self.assertIn("PodGroup default/train: the minimum is 3, and 2 pods run",
                      self.warnings(plan)["GangsIncomplete"])

    def test_a_gang_of_which_declared_pods_are_missing_is_named(self):
        pods = []
        for i, (name, phase) in enumerate([("a", "Running"), ("b", "Running"), ("a", "Succeeded")]):
            member = replicated("train-%d" % i, name, "train")
            member["status"]["phase"] = phase
            member["metadata"].setdefault("labels", {})["kueue.x-k8s.io/pod-group-name"] = "train"
            member["metadata"].setdefault("annotations", {})["kueue.x-k8s.io/pod-group-total-count"] = "5"
            pods.append(member)
        plan, _ = self.plan(self.CLUSTER + [REPLICA_SET] + pods)
        self.assertIn("pod group of Kueue default/train: 5 pods are declared, and 2 pods run, 1 has ended; "
                      "the input lacks 2", self.warnings(plan)["GangsIncomplete"])
        self.assertEqual(plan["summary"]["gangs"][0]["declaredSize"], 5)
        self.assertEqual(plan["summary"]["gangs"][0]["notInInput"], 2)

    def test_a_kept_gang_is_explained(self):
        text, _ = self.explain(self.gang(schedulingPolicy={"gang": {"minCount": 2}}, disruptionMode={"all": {}}), "a")
        self.assertIn("PodOfGang", text)
        self.assertIn("2 pods of PodGroup default/train run on 2 nodes, and its pods stay together", text)

    def test_gangs_are_ignored_if_asked(self):
        plan, _ = self.plan(self.gang(schedulingPolicy={"gang": {"minCount": 2}}), "--gangs", "ignore")
        self.assertNotIn("gangs", plan["summary"])
        self.assertNotIn("PodOfGang", json.dumps(plan))

    # --- Devices

    DRIVER = "gpu.example.com"

    def devices(self, on, *models):
        listed = [{"name": f"gpu-{i}", "attributes": {"model": {"string": model}}} for i, model in enumerate(models)]
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": on},
                "spec": {"driver": self.DRIVER, "nodeName": on, "devices": listed,
                         "pool": {"name": on, "generation": 1, "resourceSliceCount": 1}}}

    def with_device(self, name, on):
        """A pod that uses gpu-0 of its node, an a100, and its claim."""
        user = pod(name, on, cpu="100m")
        user["metadata"]["uid"] = "uid-" + name
        user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
        user["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": name}]
        selector = f'device.attributes["{self.DRIVER}"].model == "a100"'
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": selector}}]}}
        result = {"request": "gpu", "driver": self.DRIVER, "pool": on, "device": "gpu-0"}
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                 "metadata": {"name": name, "namespace": "default", "ownerReferences": [
                     {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "uid-" + name, "controller": True}]},
                 "spec": {"devices": {"requests": [request]}},
                 "status": {"allocation": {"devices": {"results": [result]},
                                           "nodeSelector": {"nodeSelectorTerms": terms}},
                            "reservedFor": [{"resource": "pods", "name": name, "uid": "uid-" + name}]}}
        return [user, claim]

    # Symptom: the plan said that pods find no room, and named no slice.
    def test_pools_from_which_nothing_is_allocated_are_named(self):
        odd, lacking, whole = self.devices("a", "a100"), self.devices("b", "a100"), self.devices("c", "a100")
        odd["spec"]["devices"][0]["newField"] = 1
        lacking["spec"]["pool"]["resourceSliceCount"] = 2
        for slices, text in (
                ([odd, whole], "1 pool: gpu.example.com/a: ResourceSlice a: spec.devices[].newField"),
                ([lacking, whole], "1 pool: gpu.example.com/b: slices of its newest generation are missing"),
                ([odd, lacking], "2 pools: gpu.example.com/a: ResourceSlice a: spec.devices[].newField and 1 more")):
            plan, _ = self.plan([node("a"), node("b"), node("c"), *slices])
            self.assertEqual(self.warnings(plan)["DevicePoolsNotEvaluated"], "no device is allocated from " + text)

    # Symptom: the reason of the devices was computed, and no answer showed it.
    def test_the_device_that_does_not_serve_a_pod_is_named(self):
        cluster = [{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
                   node("a"), node("b"), node("c"), node("d"), node("e"), *self.with_device("p", "a"),
                   *self.with_device("q", "b"), self.devices("a", *4 * ["a100"]), self.devices("b", "a100", "t4")]
        fails = 'device gpu-1 of pool b fails selector device.attributes["gpu.example.com"].model == "a100"'
        plan, _ = self.plan(cluster)
        kept = next(each for each in plan["keep"] if each["node"] == "a")
        details = kept["unplacedPod"]["details"]
        self.assertEqual(details[0], {"node": "b", "filter": "DynamicResources",
                                      "detail": f"device gpu-0 of pool b is in use; {fails}"})
        self.assertEqual(len(details) + kept["unplacedPod"].get("detailsLeftOut", 0), kept["unplacedPod"]["nodes"])
        text = " ".join(self.explain(cluster, "a")[0].split())
        self.assertIn("node b: device gpu-0 of pool b is in use; " + fails, text)
        dump = self.dump(cluster)
        asked = ["filter", dump, "--assume-complete", "--pod", "default/p"]
        self.assertIn("cannot allocate all claims; device gpu-0 of pool b is in use; " + fails, self.ebb(*asked)[0])
        self.assertIn("cannot allocate all claims; the node reaches no devices", self.ebb(*asked)[0])
        nodes = json.loads(self.ebb(*asked, "-o", "json")[0])["results"][0]["nodes"]
        self.assertIn(fails, next(each for each in nodes if each["node"] == "b")["detail"])
        self.assertIn(fails, self.ebb(*asked, "--node", "b")[0])

    # --- Room

    def buffer(self, replicas, *more):
        return self.CLUSTER + list(more) + [
            {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
             "metadata": {"name": "buf", "namespace": "default"},
             "status": {"replicas": replicas, "podTemplateRef": {"name": "t"},
                        "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
                        "conditions": [{"type": "ReadyForProvisioning", "status": "True"}]}}]

    TEMPLATE = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t", "namespace": "default"},
                "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}}}

    def test_pods_of_a_buffer_find_room_and_are_not_pending(self):
        plan, _ = self.plan(self.buffer(2, self.TEMPLATE))
        self.assertEqual(plan["summary"]["capacityBuffers"],
                         [{"name": "default/buf", "strategy": "buffer.x-k8s.io/active-capacity", "replicas": 2,
                           "pods": 2, "placed": 2}])
        self.assertEqual(plan["summary"]["pendingPods"], {"total": 0, "placed": 0})
        text = self.ebb("plan", self.dump(self.buffer(2, self.TEMPLATE)), "--assume-complete", "--now", START)[0]
        self.assertIn("Room is kept for 2 pods of CapacityBuffer default/buf.", text)

    def test_a_buffer_without_its_template_is_named(self):
        plan, _ = self.plan(self.buffer(2))
        self.assertIn('CapacityBuffer default/buf: status.podTemplateRef: PodTemplate "t" is missing',
                      self.warnings(plan)["CapacityBuffersIncomplete"])

        self.assertFalse(plan["complete"])
        err = self.ebb("plan", self.dump(self.buffer(2)), "--assume-complete", "--now", START, "-o", "name", code=1)[1]
        self.assertIn("a plan of an incomplete cluster is shown and not carried out", err)

    def test_a_buffer_that_is_not_ready_is_listed(self):
        cluster = self.buffer(2, self.TEMPLATE)
        cluster[-1]["status"]["conditions"][0]["status"] = "False"
        plan, _ = self.plan(cluster)
        self.assertEqual(plan["summary"]["capacityBuffers"][0]["problem"], "it is not ready for provisioning")
        self.assertTrue(plan["complete"])

    # Symptom: `ebb blockers` looked for the pods of a buffer among the objects, and failed.
    def test_blockers_name_a_buffer_that_keeps_nodes(self):
        large = copy.deepcopy(self.TEMPLATE)
        large["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2500m"
        cluster = [node("a"), node("b"), node("c"), pod("busy", "b", "1")] + self.buffer(2, large)[len(self.CLUSTER):]
        out = self.ebb("blockers", self.dump(cluster), "--assume-complete", "--now", START, "-o", "json")[0]
        found = [b for b in json.loads(out)["blockers"] if b["kind"] == "CapacityBuffer"]
        self.assertEqual([b["change"] for b in found], ["without the room for its 2 pods"])
        self.assertEqual(found[0]["reason"], "RoomForCapacityBuffer")

    def test_a_pod_group_that_is_not_understood_keeps_its_nodes_and_is_named(self):
        plan, _ = self.plan(self.gang(schedulingPolicy={"weird": {"minCount": 3}}))
        self.assertEqual(plan["summary"]["gangs"][0]["notUnderstood"], "spec.schedulingPolicy.weird")
        self.assertIn("PodGroup default/train: spec.schedulingPolicy.weird",
                      self.warnings(plan)["PodGroupsNotUnderstood"])
        text, _ = self.explain(self.gang(schedulingPolicy={"gang": {"minCount": -5}}), "a")
        self.assertIn("spec.schedulingPolicy.gang.minCount: is not a minimum of one pod or more", text)

    def test_a_vertical_pod_autoscaler_follows_the_owner_of_a_replica_set(self):
        vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
               "metadata": {"name": "shop", "namespace": "default"},
               "spec": {"targetRef": {"kind": "Rollout", "name": "shop"}},
               "status": {"recommendation": {"containerRecommendations": [
                   {"containerName": "c", "target": {"cpu": "123m"}}]}}}
        web = replicated("web", "a", "web")
        web["spec"]["containers"][0]["name"] = "c"
        cluster = [node("a"), node("b"), pod("busy", "b", "3"), web,
                   owned(REPLICA_SET, "argoproj.io/v1alpha1", "Rollout", "shop"), vpa]
        self.assertEqual(self.plan(cluster)[0]["summary"]["changedByVpa"][0]["name"], "default/shop")
        empty = copy.deepcopy(vpa)
        empty["status"]["recommendation"] = {}
        self.assertNotIn("changedByVpa", self.plan(cluster[:-1] + [empty])[0]["summary"])
        text, _ = self.explain(cluster[:-1] + [empty], "a")
        self.assertIn("status.recommendation: is missing or empty", text)
        boost = copy.deepcopy(vpa)
        boost["spec"]["startupBoost"] = {"cpu": {"type": "Factor", "factor": 2}}
        text, _ = self.explain(cluster[:-1] + [boost], "a")
        self.assertIn("VerticalPodAutoscaler default/shop: spec.startupBoost", text)
        none = copy.deepcopy(vpa)
        del none["spec"]["targetRef"]
        self.assertIn("default/shop (no spec.targetRef)",
                      self.warnings(self.plan(cluster[:-1] + [none])[0])["VpasWithoutPods"])

    def test_a_search_keeps_no_headroom(self):
        dump = self.dump(self.CLUSTER)
        err = self.ebb("plan", dump, "--headroom", "cpu=10%", "--optimize", code=2)[1]
        self.assertIn("--optimize", err)
        self.assertIn("--headroom", err)
        self.assertIn("--headroom", self.ebb("frontier", dump, "--headroom", "cpu=10%", code=2)[1])

    def test_headroom_is_reported_and_a_wrong_one_refused(self):
        plan, _ = self.plan(self.CLUSTER, "--headroom", "cpu=99%,memory=1%,per=zone")
        self.assertEqual(plan["summary"]["headroom"]["per"], "zone")
        self.assertIn("HeadroomReached", plan["summary"]["keptByReason"])
        for wrong in ("cpu=-5%", "cpu=10", "cpu=100%", "disk=1%", "cpu=1%,cpu=2%"):
            err = self.ebb("plan", self.dump(self.CLUSTER), "--headroom", wrong, code=2)[1]
            self.assertIn("is not of the form cpu=10%,memory=10%,per=zone", err)

    def test_pods_that_a_vertical_pod_autoscaler_changes_are_counted(self):
        vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
               "metadata": {"name": "rs", "namespace": "default"},
               "spec": {"targetRef": {"kind": "ReplicaSet", "name": "rs"}, "updatePolicy": {"updateMode": "Initial"}},
               "status": {"recommendation": {"containerRecommendations": [
                   {"containerName": "c", "target": {"cpu": "123m"}}]}}}
        web = replicated("web", "a", "web")
        cluster = [node("a"), node("b"), pod("busy", "b", "3"), web, REPLICA_SET, vpa]
        web["spec"]["containers"][0]["name"] = "c"
        plan, _ = self.plan(cluster)
        changed = plan["summary"]["changedByVpa"]
        self.assertEqual((changed[0]["name"], changed[0]["movedPods"], changed[0]["after"]["cpuMilli"]),
                         ("default/rs", 1, 123))
        self.assertNotIn("changedByVpa", self.plan(cluster, "--vpa", "ignore")[0]["summary"])

    def test_pods_of_controllers_of_unknown_kinds_are_named(self):
        cluster = self.CLUSTER + [owned(pod("x", "b"), "apps.kruise.io/v1alpha1", "CloneSet"),
                                  owned(pod("y", "b"), "apps/v1", "StatefulSet")]
        self.assertIn("CloneSet.apps.kruise.io (1): default/x",
                      self.warnings(self.plan(cluster)[0])["CustomControllers"])

    def test_karpenters_nodes_without_a_nodepool_are_named(self):
        cluster = [karpenter("k1", "default"), karpenter("k2", "default"), pod("p", "k1")]
        out = self.ebb("plan", self.dump(cluster), "--now", START, "-o", "json")[0]
        plan = json.loads(out)
        for code in ("NoNodePools", "NoNodeClaims"):
            warning = [w for w in plan["summary"]["warnings"] if w["code"] == code][0]
            self.assertIn("2 nodes are Karpenter's (k1 and 1 more)", warning["message"])
            self.assertEqual(warning["command"], "kubectl get nodepools,nodeclaims -o json")
        self.assertFalse(plan["complete"])
        self.assertEqual([each["code"] for each in plan["missing"]], ["NoNodePools", "NoNodeClaims"])
        err = self.ebb("plan", self.dump(cluster), "--now", START, "-o", "name", code=1)[1]
        self.assertIn("`kubectl get nodepools,nodeclaims -o json`", err)
        with_pool = cluster + [custom("karpenter.sh/v1", "NodePool", "default")]
        out = self.ebb("plan", self.dump(with_pool), "--now", START, "-o", "json")[0]
        self.assertNotIn("NoNodePools", self.warnings(json.loads(out)))

    # --- Karpenter's rules

    def karpenter_plan(self, cluster, *args, **kwargs):
        out = self.ebb("plan", self.dump(cluster), "--assume-complete", "--now", START, "-o", "json", *args, **kwargs)[0]
        return json.loads(out)

    def test_a_nodepool_keeps_its_nodes_in_karpenters_words(self):
        cluster = [karpenter("k1", "never"), karpenter("k2", "default"), pod("p", "k2"),
                   custom("karpenter.sh/v1", "NodePool", "never", disruption={"consolidateAfter": "Never"}),
                   custom("karpenter.sh/v1", "NodePool", "default",
                          disruption={"consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty", "budgets": []})]
        kept = {each["node"]: each for each in self.karpenter_plan(cluster)["keep"]}
        self.assertEqual((kept["k1"]["reason"], kept["k1"]["detail"]),
                         ("ConsolidationDisabled", 'NodePool "never" has consolidation disabled'))
        self.assertEqual((kept["k2"]["reason"], kept["k2"]["detail"]),
                         ("NodeNotEmpty", 'NodePool "default" has consolidation policy WhenEmpty, but node is not empty'))
        out = self.ebb("plan", self.dump(cluster), "--assume-complete", "--now", START, "--explain", "k1")[0]
        self.assertIn("""By Karpenter's rules: NodePool "never" has consolidation disabled.""", out)
        by_autoscaler = self.karpenter_plan(cluster, "--rules", "autoscaler")
        self.assertEqual([each["node"] for each in by_autoscaler["remove"]], ["k1"])
        self.assertIn("one of auto, autoscaler, karpenter", self.ebb(
            "plan", self.dump(cluster), "--rules", "mine", code=2)[1].replace('"', ""))

    # Two nodes whose NodePools leave consolidation to another program, and one that Karpenter consolidates.
    def delegated(self):
        pools = {"never": {"consolidateAfter": "Never"}, "empty": {"consolidateAfter": "1h", "consolidationPolicy": "WhenEmpty"},
                 "own": {"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized"}}
        cluster = [karpenter("k-" + pool, pool) for pool in pools]
        cluster += [pod("p-" + pool, "k-" + pool, cpu="100m") for pool in pools]
        return cluster + [custom("karpenter.sh/v1", "NodePool", pool, disruption=disruption | {"budgets": [{"nodes": "100%"}]})
                          for pool, disruption in pools.items()]

    def test_ebb_consolidates_the_nodepools_that_leave_it_to_ebb(self):
        plan = self.karpenter_plan(self.delegated(), "--rules", "delegated")
        self.assertEqual(sorted(each["node"] for each in plan["remove"]), ["k-empty", "k-never"])
        (kept,) = plan["keep"]
        self.assertEqual((kept["node"], kept["reason"]), ("k-own", "ConsolidationPolicyNotEvaluated"))
        self.assertIn("so Karpenter consolidates its nodes itself; WhenEmpty, or consolidateAfter: Never, leaves them to ebb",
                      kept["detail"])
        # By Karpenter's own rules it is the other way around.
        plan = self.karpenter_plan(self.delegated())
        self.assertEqual([each["node"] for each in plan["remove"]], ["k-own"])

    def test_changes_of_nodepools_are_tried(self):
        dump = self.dump(self.delegated())
        out = self.ebb("blockers", dump, "--assume-complete", "--now", START, "-o", "json")[0]
        pools = {each["name"]: each for each in json.loads(out)["blockers"] if each["kind"] == "NodePool"}
        self.assertEqual({name: (each["reason"], each["change"], each["nodesGained"]) for name, each in pools.items()},
                         {"never": ("ConsolidationDisabled", "consolidateAfter: 0s", 1),
                          "empty": ("NodeNotEmpty", "consolidationPolicy: WhenEmptyOrUnderutilized", 1)})
        self.assertEqual(pools["never"]["command"], "kubectl patch nodepools.karpenter.sh never --type merge -p "
                         "'{\"spec\":{\"disruption\":{\"consolidateAfter\":\"0s\"}}}'")
        out = self.ebb("plan", dump, "--assume-complete", "--now", START, "--explain", "k-empty", "--counterfactual")[0]
        self.assertIn("NodePool empty has consolidationPolicy: WhenEmptyOrUnderutilized", out)

    def test_objects_of_karpenter_that_do_not_fit_together_are_named_and_their_nodes_stay(self):
        def claim(name, node_name):
            conditions = [{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                          for kind in ("Initialized", "Consolidatable")]
            return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name},
                    "status": {"nodeName": node_name, "conditions": conditions}}
        budgets = [{"nodes": "1", "schedule": "0 25 * * *", "duration": "1h"}]
        cluster = [karpenter("k1", "broken"), karpenter("k2", "gone"), karpenter("k3", "broken"), pod("p", "k2"),
                   custom("karpenter.sh/v1", "NodePool", "broken", disruption={"budgets": budgets}),
                   claim("c1", "k1"), claim("c2", "k2"), claim("c9", "k9")]
        plan = self.karpenter_plan(cluster)
        self.assertEqual(plan["remove"], [])
        self.assertEqual({each["node"]: each["reason"] for each in plan["keep"]},
                         {"k1": "EmptyBudgetReached", "k2": "NodePoolNotFound", "k3": "NodeClaimNotFound"})
        warnings = self.warnings(plan)
        self.assertIn('NodePool broken: spec.disruption.budgets[0].schedule: not a cron expression: hour "25": '
                      "must be within 0-23", warnings["NodePoolBudgetNotUnderstood"])
        self.assertIn("1 NodeClaim has no node (c9)", warnings["NodeClaimsWithoutNode"])
        self.assertIn("1 node of Karpenter has no NodeClaim (k3)", warnings["NodesWithoutNodeClaim"])
        self.assertIn("1 node of Karpenter has no NodePool in the input (k2)", warnings["NodesWithoutNodePool"])

    def test_evictionresponders_restrict_nothing(self):
        asked = pod("asked", "b")
        asked["spec"]["evictionResponders"] = [{"name": "x.example.org/y", "priority": 100}]
        plan, _ = self.plan([node("a"), node("b"), node("c", cpu="8"), pod("p", "c", cpu="6"), asked])
        self.assertIn("b", {n["node"] for n in plan["remove"]})

    #  --- What a plan assumes and skips

    def test_an_assumed_minimum_gives_a_warning_if_all_nodes_of_a_group_go(self):
        cluster = [node("a", "small"), node("b", "big", cpu="16"), node("c", "big", cpu="16"),
                   pod("p", "b", cpu="6"), pod("q", "c", cpu="9")]
        plan, err = self.plan(cluster)
        self.assertEqual([n["node"] for n in plan["remove"]][0], "a")
        self.assertIn("minimum of 0 is assumed where none is known: small (1 node)",
                      self.warnings(plan)["MinimumAssumed"])
        self.assertIn("MIN:MAX:NAME", err)
        plan, _ = self.plan(cluster, "--nodes", "0:5:small")
        self.assertNotIn("MinimumAssumed", self.warnings(plan))

    def test_a_refusal_that_an_earlier_rule_overrides_gives_a_warning(self):
        agent = owned(annotated(pod("agent", "a", safe=False), SAFE, "false"), "apps/v1", "DaemonSet")
        words = annotated(owned(pod("words", "a", safe=False), "apps/v1", "StatefulSet"), SAFE, "False")
        flags = ["--skip-nodes-with-custom-controller-pods=false"]
        cluster = [node("a"), node("b"), node("c", cpu="8"), pod("p", "c", cpu="6"), agent, words]
        plan, err = self.plan(cluster, *flags)
        removed = {n["node"]: n for n in plan["remove"]}
        self.assertEqual([p["name"] for p in removed["a"]["passedOver"]], ["agent", "words"])
        self.assertIn("a DaemonSet's pod goes with its node", removed["a"]["passedOver"][0]["detail"])
        self.assertIn('"False" is ignored', removed["a"]["passedOver"][1]["detail"])
        self.assertIn("2 pods go with their nodes although annotated", self.warnings(plan)["SafeToEvictPassedOver"])
        self.assertIn("passed over", err)
        self.assertNotIn("passedOver", removed.get("b", {}))
        self.assertIn("passed over", self.explain(cluster, "a", *flags)[0])

    # --- Karpenter's protection for a time

    def test_a_protection_for_a_time_says_until_when(self):
        def cluster(when):
            job = annotated(pod("job", "k1"), PROTECTED, "30m")
            return [karpenter("k1", "default"), karpenter("k2", "default"),
                    pod("big", "k2", cpu="3"), started(job, when) if when else job]
        on = cluster("2026-06-01T11:50:00Z")
        plan, _ = self.plan(on)
        kept = {n["node"]: n for n in plan["keep"]}
        self.assertIn("until 2026-06-01T12:20:00Z", kept["k1"]["blockingPod"]["detail"])
        text, data = self.explain(on, "k1")
        self.assertIn("until 2026-06-01T12:20:00Z", " ".join(text.split()))
        self.assertIn("until 2026-06-01T12:20:00Z", data["pods"][0]["detail"])
        self.assertNotIn("k1", {n["node"] for n in self.plan(cluster(None))[0]["remove"]})
        self.assertIn("k1", {n["node"] for n in self.plan(cluster("2026-06-01T11:30:00Z"))[0]["remove"]})

    def test_every_form_keeps_when_a_protected_pod_started(self):
        job = started(annotated(pod("job", "k1"), PROTECTED, "30m"), "2026-06-01T11:00:00Z")
        cluster = [karpenter("k1", "default"), karpenter("k2", "default"), pod("big", "k2", cpu="3"), job]
        for name in ("s.pb", "s.json", "s.yaml"):
            self.ebb("import", self.dump(cluster), "-o", self.path(name))
            plan = json.loads(self.ebb("plan", self.path(name), "--assume-complete", "--now", START,
                                       "-o", "json")[0])
            self.assertIn("k1", {n["node"] for n in plan["remove"]}, name)

    # --- Dumps of another time

    def test_the_age_of_an_old_dump_is_reported(self):
        def cluster(heartbeat):
            items = copy.deepcopy(self.CLUSTER)
            for item in items[:2]:
                item["status"]["conditions"][0]["lastHeartbeatTime"] = heartbeat
            return items
        old = cluster("2026-05-30T10:00:00Z")
        plan, err = self.plan(old)
        self.assertIn("the dump is of 2026-05-30T10:00:00Z, 2 d 2 h before the time that is planned for, "
                      "2026-06-01T12:00:00Z", self.warnings(plan)["OldDump"])
        self.assertIn("OldDump", self.warnings(self.plan(cluster("2026-06-01T10:59:59Z"))[0]))
        # Heartbeats may be minutes old, clocks differ, and objects written by people have no heartbeat.
        for heartbeat in ("2026-06-01T11:00:00Z", "2026-06-01T12:00:30Z", None):
            self.assertNotIn("OldDump", self.warnings(self.plan(cluster(heartbeat))[0]), heartbeat)
        # A newer object shows that the dump is newer.
        old[3]["metadata"]["creationTimestamp"] = "2026-06-01T11:50:00Z"
        self.assertNotIn("OldDump", self.warnings(self.plan(old)[0]))
        old[3]["metadata"]["creationTimestamp"] = "2026-05-01T11:50:00Z"
        for name in ("s.pb", "s.json", "s.yaml"):
            self.ebb("import", self.dump(old), "-o", self.path(name))
            self.assertIn("3 h before", self.ebb(
                "plan", self.path(name), "--assume-complete", "--now", "2026-05-30T13:00:00Z")[1], name)
        self.assertIn("2 d 2 h before", self.ebb(
            "plan", self.dump(old), "--assume-complete", "--now", START, "--explain", "a", "--counterfactual")[1])
        self.assertIn("OldDump", self.ebb("plan", self.dump(old), "--assume-complete", "--now", START,
                                          "--state", self.path("state"), "-o", "json")[0])
        self.ebb("plan", self.dump(old), "--assume-complete", "--strict", "--nodes", "0:9:ng", "--now", START,
                 code=1)

    # --- Annotations

    def test_an_annotation_of_karpenters_is_called_by_its_name(self):
        cluster = [karpenter("k1", "default"), karpenter("k2", "default"),
                   karpenter("k3", "default", {PROTECTED: "true"}),
                   karpenter("k4", "default", {"karpenter.sh/do-not-consolidate": "true"}),
                   annotated(pod("job", "k1"), PROTECTED, "true"), pod("big", "k2", cpu="3")]
        args = ["--assume-complete", "--now", START]
        dump = self.dump(cluster)
        text = self.ebb("plan", dump, *args)[0]
        self.assertNotIn("scale-down-disabled", text)
        self.assertRegex(" ".join(text.split()), "annotated karpenter.sh/do-not-consolidate or "
                                                 "karpenter.sh/do-not-disrupt")
        explain = " ".join(self.ebb("plan", dump, *args, "--explain", "k3", "--counterfactual")[0].split())
        self.assertIn("Disruption is blocked through the \"karpenter.sh/do-not-disrupt\" annotation.", explain)
        self.assertIn("if it is no longer annotated karpenter.sh/do-not-disrupt:", explain)
        explain = " ".join(self.ebb("plan", dump, *args, "--explain", "k1", "--counterfactual")[0].split())
        self.assertIn("if Pod default/job is without karpenter.sh/do-not-disrupt:", explain)
        self.assertIn("kubectl annotate pods -n default job karpenter.sh/do-not-disrupt- --overwrite", explain)
        blockers = " ".join(self.ebb("blockers", dump, *args)[0].split())
        self.assertIn("nodes without karpenter.sh/do-not-consolidate and karpenter.sh/do-not-disrupt", blockers)
        self.assertIn("pods without karpenter.sh/do-not-disrupt", blockers)
        self.assertIn("kubectl annotate pods -n default job karpenter.sh/do-not-disrupt- --overwrite", blockers)

    #  --- Nodes in deletion, and nodes that are not ready

    def deleted(self, cpu_left="1500m"):
        going = node("b", taints=base.deleting(base.START_S - 60))
        agent = owned(pod("agent", "b", safe=False), "apps/v1", "DaemonSet")
        return [node("a"), going, pod("p", "a", cpu=cpu_left), pod("q", "b", cpu="2"), agent]

    def test_pods_of_a_node_in_deletion_are_explained(self):
        text, data = self.explain(self.deleted(), "b")
        text = " ".join(text.split())
        self.assertIn("1 pod of it needs room elsewhere first.", text)
        self.assertIn("default/q moves to a", text)
        self.assertIn("default/agent goes with the node", text)
        pods = {each["name"]: each for each in data["pods"]}
        self.assertEqual((pods["q"]["outcome"], pods["q"]["to"]), ("moves", "a"))
        text, data = self.explain(self.deleted(), "a")
        self.assertIn("it runs on node b, which is being deleted, and the plan keeps room", " ".join(text.split()))
        pods = {each["name"]: each for each in data["pods"]}
        self.assertEqual((pods["q"]["pending"], pods["q"]["arrivedFrom"]), (True, "b"))
        text, data = self.explain(self.deleted(cpu_left="3"), "b")
        self.assertIn("default/q must move, and finds no room", " ".join(text.split()))
        self.assertIn("findsNoRoom", {each["outcome"] for each in data["pods"]})

    def test_a_plan_and_a_round_count_the_same_pods(self):
        dump = self.dump([*self.deleted(), pod("new", "", cpu="100m")])
        args = ["--assume-complete", "--now", START, "-o", "json"]
        plan = json.loads(self.ebb("plan", dump, *args)[0])
        made = json.loads(self.ebb("plan", dump, *args, "--state", self.path("state"))[0])
        for each in (plan, made):
            self.assertEqual(each["summary"]["pods"], 3)
            self.assertEqual(each["summary"]["pendingPods"], {"total": 1, "placed": 1})
            self.assertEqual(each["displacedPods"], {"total": 1, "placed": 1})

    def test_a_node_that_goes_and_is_not_ready_is_named(self):
        gpu = labelled(base.eks("gpu", "gpus"), **{"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"})
        gpu["metadata"]["creationTimestamp"] = "2026-06-01T08:00:00Z"
        cluster = [gpu, node("u", ready=False), node("z"), pod("of-z", "z", cpu="3")]
        plan, _ = self.plan(cluster)
        details = {each["node"]: each.get("detail") for each in plan["remove"]}
        words = "counts as not ready: GPU label, and no GPU is allocatable, 4 h after it was made"
        self.assertEqual(details, {"gpu": words, "u": "is not ready"})
        text = " ".join(self.ebb("plan", self.dump(cluster), "--assume-complete", "--now", START)[0].split())
        self.assertIn(f"2 nodes that go are not ready: gpu {words}; u is not ready.", text)
        self.assertIn(f"It {words}.", " ".join(self.explain(cluster, "gpu")[0].split()))

    def test_a_round_warns_of_moves_to_another_architecture(self):
        def of(name, architecture):
            return labelled(node(name), **{"kubernetes.io/arch": architecture})
        cluster = [of("a", "amd64"), of("b", "arm64"), pod("p", "a"), pod("q", "b", cpu="2500m")]
        args = ["plan", self.dump(cluster), "--assume-complete", "--now", START]
        for words in ([], ["--state", self.path("state")]):
            out, err = self.ebb(*args, *words, "-o", "json")
            self.assertIn("MovesToOtherArchitecture", self.warnings(json.loads(out)), words)
            self.assertIn("1 pod moves to a node of another architecture", err)

    # --- Budgets

    BUDGETED = [node("a"), node("b"), node("c"), node("d", cpu="16"), REPLICA_SET,
                replicated("w0", "a", "web"), replicated("w1", "b", "web"), replicated("w2", "c", "web"),
                pod("big", "d", cpu="10")]

    def blocked(self, the_budget, *pods):
        return self.BUDGETED + [the_budget, *pods]

    def test_a_budget_that_the_plan_spends_recovers(self):
        cluster = self.blocked(budget("web", 1, "web", desiredHealthy=2, expectedPods=3))
        plan, _ = self.plan(cluster)
        self.assertEqual(len(plan["remove"]), 1)
        kept = [n for n in plan["keep"] if n["reason"] == "BlockedByPod"]
        self.assertEqual(len(kept), 2)
        for each in kept:
            self.assertIn("recovers", each["blockingPod"]["detail"])
        self.assertIn("later round", " ".join(self.explain(cluster, kept[0]["node"])[0].split()))
        blockers = self.ebb("blockers", self.dump(cluster), "--assume-complete", "--now", START)[0]
        self.assertIn("recovers", " ".join(blockers.split()))

    def test_a_budget_that_never_allows_any_is_distinguished(self):
        cluster = self.blocked(budget("web", 0, "web", desiredHealthy=3, expectedPods=3))
        blockers = " ".join(self.ebb("blockers", self.dump(cluster), "--assume-complete",
                                     "--now", START)[0].split())
        self.assertIn("never allows any", blockers)
        self.assertNotIn("recovers", blockers)
        waits = self.blocked(budget("web", 0, "web", desiredHealthy=2, expectedPods=3))
        self.assertIn("allows none now", self.plan(waits)[0]["keep"][0]["blockingPod"]["detail"])

    def test_a_budget_that_cannot_be_computed_says_why(self):
        failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
                  "message": "widgets.example.org does not implement the scale subresource"}
        cluster = self.blocked(budget("web", 0, "web", conditions=[failed]))
        self.assertIn("1 PodDisruptionBudget cannot be computed",
                      self.warnings(self.plan(cluster)[0])["BudgetsNotComputed"])
        text, _ = self.explain(cluster, "a", "--counterfactual")
        text = " ".join(text.split())
        self.assertIn("SyncFailed: widgets.example.org does not implement the scale subresource", text)
        self.assertNotIn("disruption more", text)

    def test_explain_names_a_policy_that_would_let_an_unready_pod_go(self):
        def cluster(ready, policy):
            the_budget = budget("web", 0, "web")
            the_budget["spec"]["unhealthyPodEvictionPolicy"] = policy
            items = copy.deepcopy(self.blocked(the_budget))
            for item in items:
                if item["metadata"]["name"] == "w0":
                    item["status"]["conditions"] = [{"type": "Ready", "status": ready}]
            return items
        text = lambda *of: " ".join(self.explain(cluster(*of), "a")[0].split())
        self.assertIn("AlwaysAllow", text("False", "AlwaysAllow"))
        self.assertNotIn("AlwaysAllow", text("True", "AlwaysAllow"))
        self.assertNotIn("AlwaysAllow", text("False", "IfHealthyBudget"))
        self.assertIn("--unhealthy-pods=evict does", text("False", "AlwaysAllow"))
        plan, _ = self.plan(cluster("False", "AlwaysAllow"))
        self.assertIn("1 node is kept first", self.warnings(plan)["UnhealthyPodsKeepNodes"])
        self.assertIn("a (pod default/w0)", self.warnings(plan)["UnhealthyPodsKeepNodes"])
        self.assertNotIn("UnhealthyPodsKeepNodes", self.warnings(self.plan(cluster("True", "AlwaysAllow"))[0]))
        freed, _ = self.plan(cluster("False", "AlwaysAllow"), "--unhealthy-pods=evict")
        self.assertNotIn("UnhealthyPodsKeepNodes", self.warnings(freed))
        self.assertGreater(len(freed["remove"]), len(plan["remove"]))

    def test_an_eviction_request_keeps_its_node_and_is_named(self):
        request = {"apiVersion": "lifecycle.k8s.io/v1alpha1", "kind": "EvictionRequest",
                   "metadata": {"name": "drain-w0", "namespace": "default"},
                   "spec": {"target": {"pod": {"name": "w", "uid": "uid-w"}},
                            "requester": "example.org/maintenance", "intent": "Eviction"}}
        running = pod("w", "a", cpu="100m")
        running["metadata"]["uid"] = "uid-w"
        cluster = [node("a"), node("b"), running, pod("q", "b", cpu="3")]
        self.assertEqual([each["node"] for each in self.plan(cluster)[0]["remove"]], ["a"])
        plan, _ = self.plan(cluster + [request])
        self.assertEqual(plan["remove"], [])
        kept = next(each for each in plan["keep"] if each["node"] == "a")
        self.assertEqual(kept["blockingPod"]["reason"], "EvictionRequested")
        self.assertIn("EvictionRequest drain-w0 asks for its eviction", kept["blockingPod"]["detail"])
        self.assertNotIn("EvictorsNotEvaluated", self.warnings(plan))

    def test_blockers_try_to_leave_out_requests_of_daemonsets(self):
        agents = [owned(pod(f"agent-{n}", n, cpu="2500m", safe=False), "apps/v1", "DaemonSet")
                  for n in ("a", "b")]
        flags = ["--skip-nodes-with-custom-controller-pods=false"]
        cluster = [node("a"), node("b"), *agents, pod("p", "a", cpu="100m")]
        out = self.ebb("blockers", self.dump(cluster), "--assume-complete", "--now", START, *flags)[0]
        self.assertIn("--ignore-daemonsets-utilization", out)

    def test_the_error_for_a_list_of_objects_without_kind_names_the_cause(self):
        pods = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")}
                for item in self.CLUSTER]
        err = self.ebb("plan", self.write("Pods.json", json.dumps(pods)), code=1)[1]
        self.assertIn("is not a Kubernetes object: kind is missing", err)
        self.assertIn("kubectl get KIND", err)


if __name__ == "__main__":
    base.EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
