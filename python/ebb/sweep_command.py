"""The command `ebb sweep FILE.yaml`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fleet import Result

_EPILOG = """\
Examples:
  ebb sweep sweep.yaml
      ask every question of every cluster; a second time: only what is missing
  ebb sweep sweep.yaml --where ray --out s3://bucket/results
      on a Ray cluster

Exit codes:
   0  done
   1  bad input, output that cannot be written, or with --strict an answer that is an error
   2  wrong usage
 130  interrupted; the rows until then are written
"""


def main(argv: Sequence[str]) -> int:
    """Runs `ebb sweep` with these arguments (without "sweep"), and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="ebb sweep",
        description="Ask the same questions of many clusters; the answers are rows of a Parquet data set (docs/fleet.md)",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", help="which clusters and which questions, as YAML (docs/sweep.schema.json)"
    )
    parser.add_argument("--out", metavar="FOLDER", help="the data set: a folder or an fsspec URL; over the file's")
    parser.add_argument(
        "--where",
        choices=("local", "ray"),
        help="processes of this machine, or tasks of a Ray cluster; over the file's",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes or tasks at a time (default: one a core)")
    parser.add_argument("--add-version", action="store_true", help="allow rows beside those of another version of ebb")
    parser.add_argument("--dry-run", action="store_true", help="check the file, and print how many answers it asks for")
    parser.add_argument("--strict", action="store_true", help="end with exit code 1 if an answer is an error")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as exit_of_argparse:
        return int(exit_of_argparse.code or 0)
    try:
        return _sweep(arguments)
    except ModuleNotFoundError as error:
        print(f'ebb: ebb sweep needs the package {error.name}: pip install "ebb[sweep]"', file=sys.stderr)
    except _sweep_error() as error:
        print(f"ebb: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print(
            "ebb: interrupted; the rows until now are written, and the same sweep answers what is missing",
            file=sys.stderr,
        )
        return 130
    return 1


def _sweep_error() -> type[Exception]:
    from .fleet import SweepError

    return SweepError


def _sweep(arguments: argparse.Namespace) -> int:
    from . import fleet
    from .fleet import file

    given = file.read_file(arguments.file)
    for key in ("out", "where", "workers"):
        if getattr(arguments, key) is not None:
            given[key] = getattr(arguments, key)
    if arguments.dry_run:
        return _dry_run(given)
    if "out" not in given:
        raise fleet.SweepError(f"{arguments.file}: out: missing; give the folder of the data set there or as --out")
    result = fleet.sweep(**given, add_version=arguments.add_version, progress=not arguments.quiet)
    _print_summary(result)
    return 1 if arguments.strict and result.errors else 0


def _dry_run(given: dict[str, Any]) -> int:
    from .fleet.clusters import sources
    from .fleet.questions import questions

    asked = questions(given["questions"], given.get("options"), given["folder"])
    count = sum(1 for _ in sources(given["clusters"]))
    print(f"{count:,} clusters x {len(asked):,} questions = {count * len(asked):,} answers")
    return 0


def _print_summary(result: Result) -> None:
    """A line for each question: of how many clusters, how many errors, and how many nodes go."""
    table = result.table(columns=["question", "options", "error", "nodes", "removed"])
    by_question = table.group_by(["question", "options"], use_threads=False).aggregate(
        [([], "count_all"), ("error", "count"), ("nodes", "sum"), ("removed", "sum")]
    )
    rows = [("QUESTION", "OPTIONS", "CLUSTERS", "ERRORS", "NODES", "NODES THAT GO")]
    for each in by_question.to_pylist():
        numbers = (each["count_all"], each["error_count"], each["nodes_sum"], each["removed_sum"])
        rows.append(
            (each["question"], each["options"], *("" if number is None else f"{number:,}" for number in numbers))
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if at < 2 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))
        ]
        print("  ".join(cells).rstrip())
    print(
        f"{result.answered:,} answers in {result.seconds:.1f} s, {result.had_row:,} had a row, {result.errors:,} errors:"
        f" {result.out}, ebb_version={result.version}"
    )
