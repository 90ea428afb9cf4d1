"""The command `ebb` of the wheel: the program, and what only Python answers.

`ebb sweep ...` and `ebb plan ... -o arrow|parquet` are answered here; everything else by the program that
the wheel carries, which replaces this process.  It is a package of its own, because importing ebb takes
longer than the program takes to start.
"""

from __future__ import annotations

import os
import signal
import sys

_PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ebb", "bin", "ebb")
_TABLES = ("plans", "removals", "moves", "kept")
_FORMATS = ("arrow", "parquet")


def _say(message: str) -> int:
    print(f"ebb: {message}", file=sys.stderr)
    return 2


def _take(arguments: list[str], names: tuple[str, ...]) -> str | None:
    """Removes an option from the arguments and returns its last value."""
    value, rest, left = None, [], iter(arguments)
    for argument in left:
        name, equals, text = argument.partition("=")
        if name in names:
            value = text if equals else next(left, "")
        elif argument.startswith("-o") and not argument.startswith("--") and "-o" in names:
            value = argument[2:]  # "-oarrow"
        else:
            rest.append(argument)
    arguments[:] = rest
    return value


def _format_of(arguments: list[str]) -> str | None:
    return _take(list(arguments), ("-o", "--output"))


def _plan_table(arguments: list[str]) -> int:
    import subprocess

    form = _take(arguments, ("-o", "--output"))
    name = _take(arguments, ("--table",)) or "removals"
    if name not in _TABLES:
        return _say(f"--table: {name!r} is not one of {', '.join(_TABLES)}")
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        return _say(f"-o {form}: needs the package pyarrow (pip install pyarrow)")
    if sys.stdout.isatty():
        return _say(f"-o {form}: would write binary data to a terminal; redirect it to a file")
    made = subprocess.run([_PROGRAM, *arguments, "-o", "json"], stdout=subprocess.PIPE, check=False)
    if not made.stdout:
        return made.returncode
    from ebb import Error, Plan

    try:
        table = pyarrow.table(getattr(Plan.from_json(made.stdout), "plan" if name == "plans" else name))
    except Error:
        return _say(f"-o {form}: the answer of this command has no table; expected a plan")
    sink = pyarrow.BufferOutputStream()
    if form == "parquet":
        pyarrow.parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # A reader that ends early ends this process, as it ends the program.
    sys.stdout.buffer.write(sink.getvalue())
    sys.stdout.buffer.flush()
    return made.returncode


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["sweep"]:
        from ebb.sweep_command import main as sweep

        return sweep(arguments[1:])
    if arguments[:1] == ["plan"] and _format_of(arguments) in _FORMATS:
        return _plan_table(arguments)
    if not os.path.exists(_PROGRAM):
        return _say("this wheel was built without the program")
    os.execv(_PROGRAM, ["ebb", *arguments])
