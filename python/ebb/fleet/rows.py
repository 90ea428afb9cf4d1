"""The columns of a sweep's data set, and a row from an answer.  docs/fleet.md describes the columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

    from .questions import Question

SCHEMA_VERSION = "1"
# The folders of the data set have these values; its files do not.
PARTITIONS = ("ebb_version", "question")


@cache
def schema() -> pyarrow.Schema:
    """The columns of a file of the data set.  A column may be added; a later version changes none."""
    import pyarrow as pa

    text, count, real = pa.string(), pa.int64(), pa.float64()
    blocker = pa.struct(
        [
            ("kind", text),
            ("namespace", text),
            ("name", text),
            ("reason", text),
            ("change", text),
            ("nodes", count),
            ("nodes_gained", count),
            ("saved_per_hour_gained", real),
        ]
    )
    point = pa.struct([("removed", count), ("moved_pods", count), ("saved_per_hour", real)])
    return pa.schema(
        [
            # Which cluster.
            ("cluster", text),
            ("labels", pa.map_(text, text)),
            ("source", text),
            ("input_sha256", text),
            ("input_bytes", count),
            # Which question.
            ("question_sha256", text),
            ("ask", text),
            ("options", text),
            ("now", pa.timestamp("ms", "UTC")),
            # What went wrong.
            ("error_kind", text),
            ("error", text),
            # The plan; of a what-if, the plan after the changes.
            ("complete", pa.bool_()),
            ("warnings", pa.list_(text)),
            ("termination", text),
            ("nodes", count),
            ("pods", count),
            ("removed", count),
            ("kept", count),
            ("moved_pods", count),
            ("freed_cpu_milli", count),
            ("freed_memory_bytes", count),
            ("freed_gpus", count),
            ("saved_per_hour", real),
            ("currency", text),
            ("kept_by_reason", pa.map_(text, count)),
            ("removed_nodes", pa.list_(text)),
            # Of a what-if.
            ("before_removed", count),
            ("before_moved_pods", count),
            ("before_saved_per_hour", real),
            ("no_more", pa.list_(text)),
            ("now_too", pa.list_(text)),
            # Of the other questions.
            ("blockers", pa.list_(blocker)),
            ("frontier", pa.list_(point)),
            # How the answer came about.
            ("decision_sha256", text),
            ("answer", text),
            ("load_seconds", real),
            ("answer_seconds", real),
            ("worker", text),
            ("written", pa.timestamp("ms", "UTC")),
        ],
        metadata={"ebb.table": "sweep", "ebb.schema": SCHEMA_VERSION},
    )


def figures(question: Question, json_text: bytes) -> dict[str, Any]:
    """The columns that an answer fills."""
    answer = json.loads(json_text)
    of = {"plan": _of_plan, "what_if": _of_comparison, "blockers": _of_blockers, "frontier": _of_frontier}
    row, decision = of[question.ask](answer)
    row["complete"] = answer.get("complete")
    row["decision_sha256"] = hashlib.sha256(json.dumps(decision, separators=(",", ":")).encode()).hexdigest()
    if question.answer:
        row["answer"] = json_text.decode()
    return row


def _of_plan(answer: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    summary, removals = answer["summary"], answer["remove"]
    freed = summary.get("freed", {})
    row = {
        "warnings": [warning["code"] for warning in summary.get("warnings", ())],
        "termination": summary.get("termination"),
        "nodes": summary["nodes"],
        "pods": summary["pods"],
        "removed": summary["removed"],
        "kept": summary["kept"],
        "moved_pods": summary["movedPods"],
        "freed_cpu_milli": freed.get("cpuMilli"),
        "freed_memory_bytes": freed.get("memoryBytes"),
        "freed_gpus": freed.get("gpus"),
        "saved_per_hour": summary.get("savedPerHour"),
        "currency": summary.get("currency"),
        "kept_by_reason": list(summary.get("keptByReason", {}).items()),
        "removed_nodes": [removal["node"] for removal in removals],
    }
    moves = [
        [each["node"], [[pod.get("namespace"), pod["name"], pod.get("to")] for pod in each.get("pods", ())]]
        for each in removals
    ]
    return row, moves


def _of_comparison(answer: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    before, after = answer["before"], answer["after"]
    no_more = [each["node"] for each in answer["removedBeforeAlone"]]
    now_too = [each["node"] for each in answer["removedAfterAlone"]]
    row = {
        "nodes": after["nodes"],
        "removed": after["removed"],
        "kept": after["nodes"] - after["removed"],
        "moved_pods": after["movedPods"],
        "saved_per_hour": after.get("savedPerHour"),
        "currency": after.get("currency"),
        "before_removed": before["removed"],
        "before_moved_pods": before["movedPods"],
        "before_saved_per_hour": before.get("savedPerHour"),
        "no_more": no_more,
        "now_too": now_too,
    }
    sides = [[side["nodes"], side["removed"], side["movedPods"]] for side in (before, after)]
    return row, [sides, no_more, now_too]


def _of_blockers(answer: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    rows = [
        {
            "kind": each["kind"],
            "namespace": each.get("namespace"),
            "name": each["name"],
            "reason": each["reason"],
            "change": each.get("change"),
            "nodes": each["nodes"],
            "nodes_gained": each.get("nodesGained"),
            "saved_per_hour_gained": each.get("savedPerHourGained"),
        }
        for each in answer["blockers"]
    ]
    row = {
        "nodes": answer["removed"] + answer["kept"],
        "removed": answer["removed"],
        "kept": answer["kept"],
        "blockers": rows,
    }
    return row, [answer["removed"], answer["kept"], rows]


def _of_frontier(answer: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    points = [
        {"removed": each["removed"], "moved_pods": each["movedPods"], "saved_per_hour": each.get("savedPerHour")}
        for each in answer["points"]
    ]
    return {"currency": answer.get("currency"), "frontier": points}, points
