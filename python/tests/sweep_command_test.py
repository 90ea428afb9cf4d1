"""The command `ebb sweep FILE.yaml`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
yaml = pytest.importorskip("yaml")

from ebb.fleet import read
from ebb.sweep_command import main
from sweep_support import dump

SPEC = """
apiVersion: ebb/v1alpha1
kind: Sweep
clusters:
- dumps/{cluster}.pb
- {generate: mixed, nodes: 10, seeds: 1-2, labels: {region: eu}}
options: {prices: prices.yaml}
questions:
  today:
  budgets: {what-if: {options: {scale-down-utilization-threshold: 0.9}}}
  thresholds: {grid: {scale-down-utilization-threshold: [0.4, 0.8]}}
now: 2026-03-01T00:00:00Z
workers: 1
out: results
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    dump(tmp_path / "dumps" / "a.pb", nodes=10)
    (tmp_path / "prices.yaml").write_text("currency: USD\nprices: []\ndefault: 0.5\n")
    path = tmp_path / "sweep.yaml"
    path.write_text(SPEC)
    return path


def test_a_file_is_swept_and_summed_up(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(spec)]) == 0
    printed = capsys.readouterr()
    table = read(spec.parent / "results")
    assert table.num_rows == 12 and table["error"].null_count == 12
    removed = sum(row["removed"] for row in table.to_pylist() if row["question"] == "today")
    assert re.search(rf"^today +{{.*}} +3 +0 +[\d,]+ +{removed}$", printed.out, re.MULTILINE), printed.out
    assert "12 answers in" in printed.out
    assert "12 of 12 answers (100%)" in printed.err
    assert set(table["currency"].to_pylist()) == {"USD"}
    assert main([str(spec), "--quiet", "--out", str(spec.parent / "results")]) == 0
    again = capsys.readouterr()
    assert "0 answers in" in again.out and "12 had a row" in again.out and again.err == ""


def test_a_dry_run_counts_and_writes_nothing(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(spec), "--dry-run"]) == 0
    assert capsys.readouterr().out == "3 clusters x 4 questions = 12 answers\n"
    assert not (spec.parent / "results").exists()


def test_a_dry_run_refuses_what_the_sweep_refuses(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> str:
        messages = []
        for more in ([], ["--dry-run"]):
            assert main([str(spec), "--quiet", *more]) == 1
            messages.append(capsys.readouterr().err)
        assert messages[0] == messages[1]
        return messages[0]

    spec.write_text(SPEC.replace("{cluster}", "a").replace("- {generate", "- {path: dumps/a.pb}\n- {generate"))
    assert "are both named 'a'" in refused()
    spec.write_text(SPEC.replace("out: results", ""))
    assert "out: missing" in refused()
    spec.write_text(SPEC.replace("0.9", "9"))
    assert "is not from 0 to 1" in refused()
    spec.write_text(SPEC)
    assert main([str(spec), "--quiet", "--out="]) == 1
    assert capsys.readouterr().err == "ebb: --out: is empty\n"
    results = spec.parent / "results"
    results.mkdir()
    (results / "thesis.txt").touch()
    assert "has 'thesis.txt' and no _sweep.json" in refused()
    (results / "thesis.txt").unlink()
    assert main([str(spec), "--quiet"]) == 0
    next(results.glob("ebb_version=*")).rename(results / "ebb_version=0.0.9")
    assert "has rows of ebb 0.0.9" in refused()
    assert main([str(spec), "--quiet", "--dry-run", "--add-version"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_sweep_with_its_rows_written(tmp_path: Path, number: signal.Signals) -> None:
    # The worker opens a FIFO, which has no writer, after it has answered the others: so the sweep does not end by itself.
    os.mkfifo(tmp_path / "never.pb")
    spec = tmp_path / "sweep.yaml"
    clusters = "[{generate: uniform, nodes: 5, seeds: 1-40}, never.pb]"
    spec.write_text(f"clusters: {clusters}\nquestions: {{today: {{}}}}\nworkers: 1\nout: results\n")
    command = [sys.executable, "-c", "import sys; from ebb.sweep_command import main; sys.exit(main(sys.argv[1:]))"]
    process = subprocess.Popen([*command, str(spec)], stderr=subprocess.PIPE, text=True, start_new_session=True)
    with open(tmp_path / "never.pb", "wb"):  # The worker has opened it.
        for _ in range(3):
            os.killpg(process.pid, number)
        printed = process.communicate()[1]
    assert process.returncode == 128 + number, printed
    said = re.search(rf"ebb: interrupted \({number.name}\); the rows until now are written, (\d+) of this", printed)
    assert said is not None and "Traceback" not in printed, printed
    assert read(tmp_path / "results").num_rows == int(said[1])


def test_a_summary_that_nobody_reads_is_no_error(spec: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "import sys; from ebb.sweep_command import main; sys.exit(main(sys.argv[1:]))"]
    with os.fdopen(writing, "wb") as nobody_reads:
        ended = subprocess.run(
            [*command, str(spec), "--quiet"], stdout=nobody_reads, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert read(spec.parent / "results").num_rows == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("clusters:", "clutsers:"), "unknown field 'clutsers'"),
        (("workers: 1", "workers: many"), "workers: 'many' is not a number from 1"),
        (("kind: Sweep", "kind: Plan"), "kind: 'Plan' is not 'Sweep'"),
        (("out: results", "where: moon"), "out: missing"),
        (("workers: 1", "where: moon"), "where: 'moon' is not"),
        (("workers: 1", "memory-max: lots"), "memory-max: 'lots' is not a number of bytes"),
        (("workers: 1", "ray: {adress: auto}\nwhere: ray"), "ray: unknown field 'adress'"),
        (("{options:", "{optoins:"), "unknown field 'optoins'"),
        (("prices.yaml", "nowhere.yaml"), "prices: .*nowhere.yaml"),
        (("today:", "today: ["), "sweep.yaml: while parsing"),
        (("workers: 1", "workers: 1\nquestions: {other: {}}"), "sweep.yaml: line 14: questions stands there twice"),
        (("today:", "today:\n  today: {ask: frontier}"), "today stands there twice"),
        (("now: 2026-03-01T00:00:00Z", "now: 2026-03-01T00:00:00"), "now: .* is not a time with a time zone"),
        (("out: results", "out: ''"), "out: is empty"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_place(
    spec: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], message: str
) -> None:
    if "ray:" in change[1]:
        pytest.importorskip("ray")
    spec.write_text(SPEC.replace(*change))
    assert main([str(spec), "--quiet"]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_errors_of_clusters_end_with_an_error_only_if_strict(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (spec.parent / "dumps" / "broken.pb").write_bytes(b"not a dump")
    assert main([str(spec), "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "4 errors" in printed
    assert re.search(r"^4 InputError, such as of broken: \S", printed, re.MULTILINE), printed
    (spec.parent / "dumps" / "other.pb").write_bytes(b"nor this")
    assert main([str(spec), "--quiet", "--strict"]) == 1


def test_wrong_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-such-flag"]) == 2
    assert main(["--help"]) == 0
    assert "ebb sweep" in capsys.readouterr().out


def test_the_schema_knows_what_the_reader_knows(spec: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from ebb.fleet import file, questions

    schema = json.loads((Path(__file__).parents[2] / "docs" / "sweep.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    given = yaml.safe_load(SPEC)
    given["now"] = given["now"].isoformat()  # YAML has times, JSON has texts.
    jsonschema.validate(given, schema)
    assert set(schema["properties"]) == file._KEYS
    assert {key.replace("-", "_") for key in schema["$defs"]["question"]["properties"]} == questions._KEYS
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**given, "clutsers": []}, schema)
