"""The command `ebb` that the wheel installs."""

import io
import os
import signal
import subprocess
import sys
import sysconfig

import pytest

import ebb
from conftest import NOW, PROGRAM

COMMAND = os.path.join(sysconfig.get_path("scripts"), "ebb")
AT = ["--now", "2026-06-01T12:00:00Z"]


def run(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, **options)


def test_the_command_is_the_program(company_file):
    ours, direct = run("plan", company_file, *AT, "-o", "json"), [PROGRAM, "plan", company_file, *AT, "-o", "json"]
    printed = subprocess.run(direct, capture_output=True, check=True)
    assert (ours.returncode, ours.stdout) == (0, printed.stdout)
    assert run("no-such-command").returncode == subprocess.run([PROGRAM, "no-such-command"], capture_output=True).returncode


@pytest.mark.parametrize("name", ["plans", "removals", "moves", "kept"])
@pytest.mark.parametrize("spelling", [["-o", "FORMAT"], ["--output", "FORMAT"], ["--output=FORMAT"], ["-oFORMAT"]])
def test_a_plan_is_written_as_arrow_and_parquet(company, company_file, name, spelling):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.ipc
    import pyarrow.parquet

    plan = company.plan()
    expected = pa.table(plan.plan if name == "plans" else getattr(plan, name))
    for form, read in (
        ("arrow", lambda data: pyarrow.ipc.open_stream(data).read_all()),
        ("parquet", lambda data: pyarrow.parquet.read_table(io.BytesIO(data))),
    ):
        made = run("plan", company_file, *AT, "--table", name, *(each.replace("FORMAT", form) for each in spelling))
        assert made.returncode == 0, made.stderr
        table = read(made.stdout)
        assert table.schema.metadata[b"ebb.table"] == name.encode()
        assert table.to_pydict() == expected.to_pydict()


def test_wrong_uses_are_errors(company_file):
    assert b"is not one of plans" in run("plan", company_file, "-o", "arrow", "--table", "x").stderr
    failed = run("plan", "no-such-file", "-o", "parquet")
    assert failed.returncode != 0 and failed.stdout == b"" and b"no-such-file" in failed.stderr
    explained = run("plan", company_file, "-o", "arrow", "--explain", "general-m8-a-0001")
    assert explained.returncode != 0 and explained.stdout == b""


def test_the_program_alone_names_the_package(company_file):
    made = subprocess.run([PROGRAM, "plan", company_file, "-o", "parquet"], capture_output=True, text=True)
    assert made.returncode != 0
    assert "wheel" in made.stderr


def test_a_reader_that_ends_early_gets_no_traceback(company_file):
    pytest.importorskip("pyarrow")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody_reads:
        command = [COMMAND, "plan", str(company_file), *AT, "-o", "arrow"]
        made = subprocess.run(command, stdout=nobody_reads, stderr=subprocess.PIPE, check=False)
    assert made.returncode == -signal.SIGPIPE
    assert b"Traceback" not in made.stderr
