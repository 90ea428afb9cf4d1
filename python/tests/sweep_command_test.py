"""The command `ebb sweep FILE.yaml`."""

from __future__ import annotations

import json
import re
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
    assert "4 errors" in capsys.readouterr().out
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
