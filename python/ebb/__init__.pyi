"""Which nodes of a Kubernetes cluster can be removed together, and where do their pods land?

    import ebb
    cluster = ebb.Cluster.load("cluster.json")       # what `ebb dump` or kubectl writes
    plan = cluster.plan(optimize=True, budget=2)
    print(plan.nodes)                                # names, in the order of removal
    pyarrow.table(plan.moves)                        # tables are Arrow

Every question takes the options of `ebb plan` as keyword arguments, in snake_case
(`--scale-down-utilization-threshold` is `scale_down_utilization_threshold`).  An unknown option, a wrong
type or a value out of range raises OptionError, which names the option, before anything runs.

Threads: a cluster accepts calls from any thread; they run one after the other, without the GIL.
Clusters are independent of each other.
"""
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict
from typing_extensions import Self, Unpack

__version__: str  # "0.1.0"

class VersionInfo(NamedTuple):
    version: str  # "0.1.0"
    commit: str  # 40 hex digits; "" if unknown. Ends with "-dirty" if files had changed.

version_info: VersionInfo

# --- Errors -----------------------------------------------------------------------------------

class Error(Exception):
    """Base of all errors.  str(error) is the whole message, as the command line prints it.

    Parts of the message that could be told apart, each None if there is none:
    file: "cluster.json";  object: "Pod default/web-0";  field: "spec.containers[0].resources".
    code: "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "RESOURCE_EXHAUSTED",
    "DEADLINE_EXCEEDED", "ABORTED" or "INTERNAL".
    Errors can be pickled.
    """
    code: str
    message: str
    file: str | None
    object: str | None
    field: str | None

class InputError(Error, ValueError):
    """A dump, a change or a file of node groups or prices that is malformed."""
class OptionError(Error, ValueError):
    """An unknown option, a value of a wrong type, or one out of range.  field: the option's name."""
class NotFoundError(Error, LookupError):
    """No such node or pod."""
class IncompleteError(Error):
    """The cluster allows no plan: it has no nodes, or lacks objects (`allow_incomplete=True`)."""
class ClosedError(Error):
    """The cluster was closed."""
class LimitError(Error):
    """A limit (objects_max, dump_bytes_max), or memory."""

# --- Options ------------------------------------------------------------------------------------

Time: TypeAlias = datetime | int | str  # Aware datetime, Unix seconds, or "2026-01-02T03:04:05Z".
Duration: TypeAlias = timedelta | int | float  # Numbers are seconds.
Text: TypeAlias = str | PathLike[str]
OptionValue: TypeAlias = bool | int | float | str | Sequence[str] | Time | Duration | PathLike[str] | None

class Options(TypedDict, total=False):
    """The options of a question; docs/python.md lists them.  None means the default."""
    # Of the question.
    now: Time | None  # The time to plan for; default: the clock's.
    nodes: Sequence[str]  # MIN:MAX:NAME, as --nodes.
    node_groups: Text  # A file of node groups: its path, or its text if it has a line break.
    prices: Text  # A file of prices, likewise.
    candidates: Sequence[str]  # Only these nodes may go; default: every node.
    allow_incomplete: bool
    max_workload_share: float
    max_scale_down_parallelism: int
    scale_down_simulation_timeout: Duration  # Return the plan so far after this time.
    # A search for a better plan.
    optimize: bool
    budget: Duration
    iterations: int
    seed: int
    objective: Literal["nodes", "cost"]
    move_cost: float
    max_evictions: int
    bound: bool
    # Trials.
    trials: int
    robust: float
    nominated_share: float
    # Stable plans.
    stable: bool
    stable_margin: float
    stable_greedy_every: int
    stable_verify_every: int
    # Of the planner (docs/options.md).
    candidate_order: Literal["autoscaler", "fewest-pods", "input", "least-utilized"]
    expendable_pods_priority_cutoff: int
    assume_complete: bool
    bypassed_scheduler_names: Sequence[str]
    match_os: bool
    kubernetes_version: Literal["auto", "1.36", "1.37"]
    startup_taint: Sequence[str]
    startup_taint_prefix: Sequence[str]
    enable_csi_node_aware_scheduling: bool
    scale_down_utilization_threshold: float
    scale_down_gpu_utilization_threshold: float
    scale_down_unready_enabled: bool
    ignore_daemonsets_utilization: bool
    ignore_mirror_pods_utilization: bool
    min_nodes_per_pass: int
    skip_nodes_with_system_pods: bool
    skip_nodes_with_local_storage: bool
    skip_nodes_with_custom_controller_pods: bool
    min_replica_count: int
    blocking_system_pod_distruption_timeout: Duration
    max_node_startup_time: Duration

def check_options(options: Mapping[str, OptionValue]) -> None:
    """Raises OptionError if `options` has an unknown name or a wrong type.  Needs no cluster."""

# --- Tables -------------------------------------------------------------------------------------

class Table:
    """Columns, in memory.  pyarrow.table(t), polars.DataFrame(t), duckdb (by name) and
    pandas.DataFrame.from_arrow(t) read it without pyarrow being needed to export it.
    docs/tables.md has the schemas; schema metadata: {"ebb.table": "moves", "ebb.schema": "1"}."""
    name: str
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def to_pydict(self) -> dict[str, list[Any]]: ...
    def to_pylist(self) -> list[dict[str, Any]]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# --- Answers --------------------------------------------------------------------------------------

class Answer:
    """An answer as a document.  Immutable, picklable, compares by content; independent of its cluster."""
    @property
    def json(self) -> bytes:
        """The document, as the command line prints it with `-o json`."""
    @classmethod
    def from_json(cls, json: bytes | str) -> Self: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def complete(self) -> bool:
        """Whether the cluster lacks nothing that the answer may depend on."""
    @property
    def warnings(self) -> list[dict[str, str]]: ...

class Plan(Answer):
    """Which nodes go, and where their pods land.  In a notebook it shows as a table with bars."""
    @property
    def nodes(self) -> list[str]:
        """Names of the nodes that go, in the order of removal."""
    @property
    def now(self) -> datetime: ...
    @property
    def termination(self) -> str: ...
    @property
    def interrupted(self) -> bool:
        """KeyboardInterrupt ended the search; this is the best plan until then."""
    @property
    def summary(self) -> dict[str, Any]:
        """`summary` of docs/plan.schema.json."""
    @property
    def missing(self) -> list[dict[str, str]]: ...
    @property
    def plan(self) -> Table:
        """One row: the figures of the plan."""
    @property
    def removals(self) -> Table:
        """A row for each node that goes."""
    @property
    def moves(self) -> Table:
        """A row for each pod that moves."""
    @property
    def kept(self) -> Table:
        """A row for each node that stays, with the reason."""
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int:
        """Number of nodes that go."""

class Explanation(Answer): ...  # docs/explain.schema.json

class Blockers(Answer):  # docs/blockers.schema.json
    @property
    def blockers(self) -> Table: ...

class Frontier(Answer):  # docs/frontier.schema.json
    @property
    def points(self) -> Table: ...

class Comparison(Answer):  # docs/comparison.schema.json
    @property
    def no_more(self) -> list[str]:
        """Nodes that go only without the changes."""
    @property
    def now_too(self) -> list[str]:
        """Nodes that go only with the changes."""

# --- A cluster --------------------------------------------------------------------------------------

class Cluster:
    @classmethod
    def load(
        cls,
        source: str | PathLike[str] | bytes | bytearray | memoryview | Mapping[str, Any],
        *,
        now: Time | None = None,
        options: Options | Mapping[str, OptionValue] | None = None,
        name: str = "cluster",
        objects_max: int = 5_000_000,
        dump_bytes_max: int = 4 << 30,
    ) -> Cluster:
        """Reads a dump: the path of a file, its bytes, or a parsed List of objects.

        JSON, YAML, .gz or .pb, as for `ebb plan`.  `options` (and `now`) are the defaults of all
        questions.  Raises InputError, OptionError, LimitError, OSError (no such file).
        """
    def apply(self, changes: Iterable[Mapping[str, Any] | bytes | Deleted]) -> int:
        """Applies objects that are new or changed, and deletions, completely or not at all.
        Returns the version of the cluster."""
    def plan(self, **options: Unpack[Options]) -> Plan: ...
    def explain(self, *nodes: str, remedies: bool = False, **options: Unpack[Options]) -> Explanation: ...
    def blockers(self, *, limit: int = 50, **options: Unpack[Options]) -> Blockers: ...
    def frontier(self, **options: Unpack[Options]) -> Frontier: ...
    def what_if(
        self,
        changes: Text | Mapping[str, Any] | None = None,
        *,
        then: Options | Mapping[str, OptionValue] | None = None,
        **options: Unpack[Options],
    ) -> Comparison:
        """Compares the plan with the plan after `changes` (docs/what-if.md: path, text, or parsed)
        and with the options `then` over `options`."""
    @property
    def cluster(self) -> Table:
        """One row: the cluster's figures."""
    @property
    def nodes(self) -> Table: ...
    @property
    def pods(self) -> Table: ...
    @property
    def version(self) -> int: ...
    def export(self, path: str | PathLike[str] | None = None) -> bytes:
        """The cluster as a binary snapshot (.pb), which load() and `ebb plan` read."""
    def close(self) -> None:
        """Frees the cluster's memory.  Later calls raise ClosedError."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

class Deleted(NamedTuple):
    """A deletion, for Cluster.apply."""
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

Kind: TypeAlias = Literal[
    "uniform", "mixed", "company", "topology", "repelling", "diverse", "terms", "excluding", "budgets", "claims"
]

def generate(kind: Kind, nodes: int = 1000, seed: int = 1, *, options: Options | None = None) -> Cluster:
    """A made-up cluster, the same as `ebb gen KIND --nodes N --seed S` makes."""
