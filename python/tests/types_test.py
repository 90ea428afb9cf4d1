"""What a user's program looks like to mypy --strict.  test_mypy runs it over this file and the package."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from datetime import timedelta

import ebb


def freed_nodes(path: pathlib.Path, threshold: float) -> list[str]:
    cluster = ebb.Cluster.load(path, now="2026-06-01T12:00:00Z", options={"allow_incomplete": True})
    plan: ebb.Plan = cluster.plan(
        scale_down_utilization_threshold=threshold, optimize=True, budget=timedelta(seconds=2), objective="nodes"
    )
    table: ebb.Table = plan.moves
    rows: int = table.num_rows + len(plan)
    try:
        cluster.explain("a", remedies=True, min_replica_count=rows)
    except ebb.OptionError as error:
        field: str | None = error.field
        print(field)
    return plan.nodes


def wrong(cluster: ebb.Cluster) -> None:
    cluster.plan(optimise=True)  # type: ignore[call-arg]
    cluster.plan(optimize="yes")  # type: ignore[arg-type]
    cluster.plan(objective="money")  # type: ignore[arg-type]
    ebb.generate("no such kind")  # type: ignore[arg-type]
    ebb.Cluster.load(3)  # type: ignore[arg-type]


def test_mypy() -> None:
    """With warn_unused_ignores, each wrong line of `wrong` must be an error to mypy."""
    import pytest

    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", __file__]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)
    assert checked.returncode == 0, checked.stdout + checked.stderr
