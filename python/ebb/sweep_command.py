"""The command `ebb sweep FILE.yaml`."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ._errors import Error
from .fleet.interrupts import interrupts

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
 129  as 130, by SIGHUP
 130  interrupted (Ctrl-C); the rows until then are written
 143  as 130, by SIGTERM
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
    with interrupts(last=True) as signals:
        try:
            return _sweep(arguments)
        except ModuleNotFoundError as error:
            package = {"yaml": "pyyaml"}.get(error.name or "", error.name)
            _say(
                f"ebb sweep needs the package {package}: pip install fsspec pyarrow pyyaml (the extra [sweep] of ebb's wheel)"
            )
        except Error as error:
            _say(str(error))
        except (KeyboardInterrupt, SystemExit):
            if signals.received is None:
                raise
            _say(
                f"interrupted ({signals.received.name}); the rows until now are written, {signals.rows:,} of this sweep,"
                " and the same sweep answers what is missing"
            )
            return 128 + signals.received
    return 1


def _say(message: str) -> None:
    with suppress(OSError):  # The terminal may be gone.
        print(f"ebb: {message}", file=sys.stderr, flush=True)


def _sweep(arguments: argparse.Namespace) -> int:
    from . import fleet
    from .fleet import file

    given = file.read_file(arguments.file)
    for key in ("out", "where", "workers"):
        if getattr(arguments, key) is not None:
            given[key] = getattr(arguments, key)
    if not given.get("out"):
        raise fleet.SweepError(
            "--out: is empty"
            if arguments.out == ""
            else f"{arguments.file}: out: missing; give the folder of the data set there or as --out"
        )
    if arguments.dry_run:
        from .fleet.driver import count

        clusters, questions = count(**given, add_version=arguments.add_version)
        print(f"{clusters:,} clusters x {questions:,} questions = {clusters * questions:,} answers", flush=True)
        return 0
    result = fleet.sweep(**given, add_version=arguments.add_version, progress=not arguments.quiet)
    try:
        _print_summary(result)
        sys.stdout.flush()
    except BrokenPipeError:  # The reader of the summary is gone; the rows are written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if arguments.strict and result.errors else 0


def _print_summary(result: Result) -> None:
    """A line for each question: of how many clusters, how many errors, and how many nodes go."""
    table = result.table(columns=["cluster", "question", "options", "error_kind", "error", "nodes", "removed"])
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
    errors = table.filter(table["error"].is_valid()).select(["error_kind", "cluster", "error"]).to_pylist()
    for kind, count in Counter(each["error_kind"] for each in errors).most_common():
        first = next(each for each in errors if each["error_kind"] == kind)
        print(f"{count:,} {kind}, such as of {first['cluster']}: {first['error'].partition(chr(10))[0]}")
    print(
        f"{result.answered:,} answers in {result.seconds:.1f} s, {result.had_row:,} had a row, {result.errors:,} errors:"
        f" {result.out}, ebb_version={result.version}"
    )
