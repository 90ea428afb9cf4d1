"""Which nodes of a Kubernetes cluster can be removed together, and where do their pods land?

    import ebb
    cluster = ebb.Cluster.load("cluster.json")   # what `ebb dump` or kubectl writes
    plan = cluster.plan(optimize=True, budget=2)
    plan.nodes                                   # names, in the order of removal
    pyarrow.table(plan.moves)                    # tables are Arrow

Every question takes the flags of `ebb plan` as keyword arguments, with underscores
(scale_down_utilization_threshold=0.6).  An unknown option or a value of a wrong type raises
OptionError, which names the option, before anything runs.  docs/python.md is the manual.
"""

from typing import NamedTuple

from ebb import _native
from ebb._answers import Answer, Blockers, Comparison, Explanation, Frontier, Plan, Purchase, Purchases, compare
from ebb._cluster import Cluster, Deleted, Kind, generate
from ebb._errors import ClosedError, Error, IncompleteError, InputError, LimitError, NotFoundError, OptionError
from ebb._options import Duration, Options, OptionValue, Text, Time, check_options, option_names
from ebb._table import Table
from ebb.fleet import SweepError, sweep


class VersionInfo(NamedTuple):
    version: str
    commit: str  # 40 hex digits, with "-dirty" if files differed from it; "": unknown.


__version__: str = _native.VERSION
version_info = VersionInfo(__version__, _native.COMMIT)

# In tracebacks and pickles the classes have the name that users import.
for _each in (Answer, Blockers, Cluster, Comparison, Deleted, Explanation, Frontier, Plan, Purchase, Purchases, Table):
    _each.__module__ = "ebb"
for _error in (Error, ClosedError, IncompleteError, InputError, LimitError, NotFoundError, OptionError, SweepError):
    _error.__module__ = "ebb"

__all__ = [
    "Answer",
    "Blockers",
    "ClosedError",
    "Cluster",
    "Comparison",
    "Deleted",
    "Duration",
    "Error",
    "Explanation",
    "Frontier",
    "IncompleteError",
    "InputError",
    "Kind",
    "LimitError",
    "NotFoundError",
    "OptionError",
    "OptionValue",
    "Options",
    "Plan",
    "Purchase",
    "Purchases",
    "SweepError",
    "Table",
    "Text",
    "Time",
    "VersionInfo",
    "__version__",
    "check_options",
    "compare",
    "generate",
    "option_names",
    "sweep",
    "version_info",
]
