"""Answers as documents: a plan, an explanation, blockers, a frontier, a comparison."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import cached_property
from html import escape
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple

from ebb import _native
from ebb._errors import InputError
from ebb._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self


class Answer:
    """An answer as a document: immutable, picklable, independent of its cluster.

    Two answers are equal if their documents have the same bytes.
    """

    _kind = ""
    _fields: dict[str, type] = {}  # What a document of this kind has.

    def __init__(self, json: bytes) -> None:
        self._json = json

    @property
    def json(self) -> bytes:
        """The document, as the command line prints it with `-o json`."""
        return self._json

    @classmethod
    def from_json(cls, json: bytes | str) -> Self:
        """Reads a document of this kind, for instance a file that `ebb plan -o json` wrote."""
        answer = cls(json.encode() if isinstance(json, str) else bytes(json))
        kind = answer._document.get("kind")
        if cls._kind and kind != cls._kind:
            raise InputError(f"kind: {kind!r} is not {cls._kind}", field="kind")
        for field, type_of in cls._fields.items():
            if not isinstance(answer._document.get(field), type_of):
                raise InputError(f"{field}: missing, or not as in a {cls._kind or cls.__name__}", field=field)
        return answer

    @cached_property
    def _document(self) -> dict[str, Any]:
        try:
            document = loads(self._json)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise InputError("is not a JSON object")
        return document

    def to_dict(self) -> dict[str, Any]:
        """The document, parsed anew."""
        document: dict[str, Any] = loads(self._json)
        return document

    @property
    def complete(self) -> bool:
        """Whether the cluster lacks nothing that the answer may depend on."""
        return bool(self._document.get("complete", True))

    @property
    def missing(self) -> list[dict[str, str]]:
        """What the cluster lacks."""
        return list(self._document.get("missing", []))

    def _table(self, name: str) -> Table:
        return Table(name, _native.answer_table(name, self._json))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and type(self) is type(other) and bool(self._json == other._json)

    def __hash__(self) -> int:
        return hash(self._json)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._json,)


class Purchase(NamedTuple):
    """A node to buy before the nodes of the plan go."""

    node: str  # The plan's name for it: the machine may get another one.
    machine_type: str
    group: str
    zone: str  # This and the next: "": unknown.
    capacity_type: str
    like: str  # A node of the group whose labels, taints and DaemonSets' pods it has.
    price_per_hour: float
    pods: int  # Pods that move to it.
    daemon_set_pods: int


class Purchases(NamedTuple):
    """What to buy first, and what that saves (docs/replace.md)."""

    buy: tuple[Purchase, ...]
    why_none: str  # "" if something is bought.
    cost_per_hour: float  # If nothing is done.
    saved_per_hour: float  # What the removed nodes cost less what the bought ones cost.
    saved_per_hour_without: float  # The same if nodes are only removed.
    moved_pods: int
    score: float
    unusable_types: tuple[tuple[str, str, int], ...]  # Reason, its text, and how many types have it.
    assumptions: tuple[str, ...]


def _purchases(replace: dict[str, Any]) -> Purchases:
    return Purchases(
        buy=tuple(
            Purchase(
                each["node"],
                each["machineType"],
                each["group"],
                each.get("zone", ""),
                each.get("capacityType", ""),
                each["like"],
                each["pricePerHour"],
                each["pods"],
                each["daemonSetPods"],
            )
            for each in replace["buy"]
        ),
        why_none=replace.get("whyNone", ""),
        cost_per_hour=replace["costPerHour"],
        saved_per_hour=replace["with"]["netSavedPerHour"],
        saved_per_hour_without=replace["without"]["netSavedPerHour"],
        moved_pods=replace["with"]["movedPods"],
        score=replace["with"]["score"],
        unusable_types=tuple((each["reason"], each["detail"], each["count"]) for each in replace["unusableTypes"]),
        assumptions=tuple(replace["assumptions"]),
    )


class Plan(Answer):
    """Which nodes go, and where their pods land.  In a notebook it is a table with bars."""

    _kind = "Plan"
    _fields = {"summary": dict, "remove": list}

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes that go, in the order of removal."""
        return [each["node"] for each in self._document["remove"]]

    def __len__(self) -> int:
        """Number of nodes that go."""
        return len(self._document["remove"])

    def __bool__(self) -> bool:
        """A plan is a plan, also if no node goes."""
        return True

    @property
    def summary(self) -> dict[str, Any]:
        """`summary` of docs/plan.schema.json."""
        summary: dict[str, Any] = self._document["summary"]
        return summary

    @property
    def now(self) -> datetime:
        """The time that was planned for."""
        return datetime.fromisoformat(self._document["now"].replace("Z", "+00:00")).astimezone(timezone.utc)

    @property
    def termination(self) -> str:
        """ "complete", or why the plan ended earlier."""
        return str(self.summary["termination"])

    @property
    def warnings(self) -> list[dict[str, str]]:
        return list(self.summary.get("warnings", []))

    @property
    def interrupted(self) -> bool:
        """Ctrl-C ended the search: this is the best plan that it had."""
        return bool(self.summary.get("search", {}).get("ended") == "interrupted")

    @cached_property
    def purchases(self) -> Purchases | None:
        """With replace=True: the nodes to buy, and to wait for, before the nodes of the plan go."""
        replace = self._document.get("replace")
        return None if replace is None else _purchases(replace)

    @cached_property
    def plan(self) -> Table:
        """One row: the figures of the plan."""
        return self._table("plans")

    @cached_property
    def removals(self) -> Table:
        """A row for each node that goes, in the order of removal."""
        return self._table("removals")

    @cached_property
    def moves(self) -> Table:
        """A row for each pod that moves."""
        return self._table("moves")

    @cached_property
    def kept(self) -> Table:
        """A row for each node that stays, with the reason."""
        return self._table("kept")

    def __repr__(self) -> str:
        summary = self.summary
        return f"<ebb.Plan: {summary['removed']} of {summary['nodes']} nodes can go, {summary['movedPods']} pods move>"

    def _repr_html_(self) -> str:
        return _plan_html(self._document)


class Explanation(Answer):
    """Why nodes stay or go, pod by pod (docs/explain.schema.json)."""


class Blockers(Answer):
    """What keeps nodes, ranked by how many more go without it (docs/blockers.schema.json)."""

    _kind = "Blockers"
    _fields = {"blockers": list}

    @cached_property
    def blockers(self) -> Table:
        return self._table("blockers")


class Frontier(Answer):
    """The best plan for each number of evicted pods (docs/frontier.schema.json)."""

    _kind = "Frontier"
    _fields = {"points": list}

    @cached_property
    def points(self) -> Table:
        return self._table("frontier")


class Comparison(Answer):
    """How two plans differ (docs/comparison.schema.json)."""

    _kind = "PlanComparison"
    _fields = {"removedBeforeAlone": list, "removedAfterAlone": list}

    @property
    def no_more(self) -> list[str]:
        """Nodes that only the plan before removes."""
        return [each["node"] for each in self._document["removedBeforeAlone"]]

    @property
    def now_too(self) -> list[str]:
        """Nodes that only the plan after removes."""
        return [each["node"] for each in self._document["removedAfterAlone"]]


def compare(before: Plan, after: Plan) -> Comparison:
    """How two plans differ, of the same cluster or of two."""
    return Comparison(_native.compare(before.json, after.json))


# --- A plan in a notebook ------------------------------------------------------------------------------

_ROWS = 40


def _bar(share: float | None, label: str) -> str:
    """A bar of 8 em; `share` from 0 to 1."""
    if share is None:
        return ""
    width = 100 * max(0.0, min(1.0, share))
    return (
        '<div style="display:inline-block;width:8em;background:#8883;vertical-align:middle">'
        f'<div style="width:{width:.1f}%;background:#4a90d9;height:.8em"></div></div> {escape(label)}'
    )


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:left">{cell}</{tag}>' for cell in cells) + "</tr>"


def _utilization(node: dict[str, Any]) -> str:
    use = node.get("utilization") or {}
    value = use.get("value")
    return "" if value is None else _bar(value, f"{value:.1%} {use.get('resource', '')}")


def _landing(pods: list[dict[str, Any]]) -> str:
    places = list(dict.fromkeys(pod["to"] for pod in pods))
    more = f", {len(places) - 2} more" if len(places) > 3 else ""
    return escape(", ".join(places[: 2 if more else 3])) + more


def _first_buy(purchases: Purchases) -> str:
    if not purchases.buy:
        return f"Buy nothing: {purchases.why_none}."
    names = ", ".join(f"{each.machine_type} for {each.group}" for each in purchases.buy)
    return f"First buy {names}, and wait until they are Ready. This saves {purchases.saved_per_hour:,.2f} an hour."


def _plan_html(plan: dict[str, Any]) -> str:
    summary, removed = plan["summary"], plan["remove"]
    nodes = max(summary["nodes"], 1)
    head = f"{summary['removed']:,} of {summary['nodes']:,} nodes can go, {summary['movedPods']:,} of {summary['pods']:,} pods move"
    share = summary["removed"] / nodes
    html = [f"<p><b>{head}</b> {_bar(share, f'{share:.1%}')}</p>"]
    if "replace" in plan:
        html.append(f"<p>{escape(_first_buy(_purchases(plan['replace'])))}</p>")
    notes = [f"The plan ended early: {summary['termination']}."] if summary["termination"] != "complete" else []
    notes += [warning["message"] for warning in summary.get("warnings", [])]
    html += [f"<p>{escape(note)}</p>" for note in notes]
    if removed:
        html.append("<table><thead>")
        html.append(_row(["#", "node", "group", "utilization", "pods", "destinations"], "th") + "</thead><tbody>")
        for number, node in enumerate(removed[:_ROWS], 1):
            cells = [str(number), escape(node["node"]), escape(node.get("group", "")), _utilization(node)]
            html.append(_row([*cells, str(len(node["pods"])), _landing(node["pods"])]))
        html.append("</tbody></table>")
        if len(removed) > _ROWS:
            html.append(f"<p>{len(removed) - _ROWS:,} more nodes</p>")
    if summary["keptByReason"]:
        html.append("<table><thead>" + _row(["kept because", "nodes"], "th") + "</thead><tbody>")
        for reason, count in summary["keptByReason"].items():
            html.append(_row([escape(reason), _bar(count / nodes, f"{count:,}")]))
        html.append("</tbody></table>")
    return "".join(html)
