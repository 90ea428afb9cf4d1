"""ebb.sweep: a grid of clusters and questions becomes one data set."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import ebb
import ebb.fleet
from ebb.fleet import Generated, Source, SweepError, plan_changes, read
from ebb.fleet.clusters import sources, without_secrets
from ebb.fleet.dataset import DataSet
from ebb.fleet.interrupts import SIGNALS
from ebb.fleet.progress import Counts, line
from ebb.fleet.questions import questions
from sweep_support import NOW, DeadlyDump, comparable, dump, keys, sweep

THRESHOLDS = {"grid": {"scale_down_utilization_threshold": [0.3, 0.6]}}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


# --- Rows ---------------------------------------------------------------------------------------


def test_a_row_has_what_the_cluster_answers(tmp_path: Path, out: Path) -> None:
    path = dump(tmp_path / "a.pb")
    table = sweep(path, {"today": {"answer": True}, "thresholds": THRESHOLDS}, out).table(
        options=["scale_down_utilization_threshold"]
    )
    rows = {(row["question"], row["scale_down_utilization_threshold"]): row for row in table.to_pylist()}
    assert set(rows) == {("today", None), ("thresholds", 0.3), ("thresholds", 0.6)}
    with ebb.Cluster.load(path, now=NOW) as cluster:
        plan = cluster.plan().to_dict()
        strict = cluster.plan(scale_down_utilization_threshold=0.3).to_dict()
    today = rows["today", None]
    assert json.loads(today["answer"]) == plan
    assert today["removed_nodes"] == [each["node"] for each in plan["remove"]]
    assert today["removed"] == plan["summary"]["removed"] > 0
    assert dict(today["kept_by_reason"]) == plan["summary"]["keptByReason"]
    assert today["freed_memory_bytes"] == plan["summary"]["freed"]["memoryBytes"]
    assert today["now"] == datetime(2026, 3, 1, tzinfo=timezone.utc)
    assert today["input_bytes"] == path.stat().st_size
    assert today["error"] is None
    assert rows["thresholds", 0.3]["removed"] == strict["summary"]["removed"] < rows["thresholds", 0.6]["removed"]
    assert rows["thresholds", 0.3]["answer"] is None


def test_each_kind_of_question_fills_its_columns(tmp_path: Path, out: Path) -> None:
    asked = {
        "changed": {"what_if": {"options": {"scale-down-utilization-threshold": 0.9}}},
        "same": {"then": {"scale_down_utilization_threshold": 0.9}},
        "kept_by": {"ask": "blockers", "limit": 2},
        "curve": {"ask": "frontier", "options": {"iterations": 10}},
    }
    table = sweep(dump(tmp_path / "a.pb"), asked, out).table()
    rows = {row["question"]: row for row in table.to_pylist()}
    assert [row["error"] for row in rows.values()] == [None] * 4
    changed = rows["changed"]
    assert (
        changed["before_removed"] + len(changed["now_too"]) - len(changed["no_more"])
        == changed["removed"]
        > changed["before_removed"]
    )
    assert rows["same"]["decision_sha256"] == changed["decision_sha256"]
    assert rows["kept_by"]["blockers"][0]["nodes"] > 0
    assert rows["curve"]["frontier"][0]["removed"] > 0


def test_clusters_are_paths_globs_urls_bytes_and_generated(tmp_path: Path, out: Path) -> None:
    path = dump(tmp_path / "dumps" / "a.pb")
    dump(tmp_path / "dumps" / "eu" / "b.pb", seed=2)
    clusters = [
        str(tmp_path / "dumps" / "**" / "*.pb"),
        {"url": path.as_uri(), "name": "by-url"},
        path.read_bytes(),
        Generated("company", 20, 1),
        {"generate": "mixed", "nodes": 10, "seeds": "1-3"},
        Source(str(path), "labelled", {"region": "eu"}),
    ]
    table = sweep(clusters, {"today": {}}, out).table()
    rows = {row["cluster"]: row for row in table.to_pylist()}
    assert all(row["error"] is None for row in rows.values()), [row["error"] for row in rows.values()]
    by_bytes = next(name for name in rows if name.startswith("bytes-"))
    assert set(rows) == {
        "a",
        "eu/b",
        "by-url",
        by_bytes,
        "company-20-1",
        "mixed-10-1",
        "mixed-10-2",
        "mixed-10-3",
        "labelled",
    }
    assert {rows[name]["decision_sha256"] for name in ("a", "by-url", by_bytes, "labelled")} == {
        rows["a"]["decision_sha256"]
    }
    assert rows["labelled"]["labels"] == [("region", "eu")]


def test_placeholders_name_clusters_labels_and_times(tmp_path: Path) -> None:
    for place in ("eu/shop/2026-01-02.pb", "eu/shop/2026-01-03T04-05-06Z.pb", "us/pay/2026-01-02.pb"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    found = list(sources(str(tmp_path / "{region}" / "{cluster}" / "{time}.pb")))
    assert [(each.name, each.labels["region"], each.labels["time"]) for each in found] == [
        ("shop", "eu", "2026-01-02"),
        ("shop", "eu", "2026-01-03T04-05-06Z"),
        ("pay", "us", "2026-01-02"),
    ]
    assert [datetime.fromtimestamp(each.now or 0, timezone.utc).isoformat() for each in found] == [
        "2026-01-02T00:00:00+00:00",
        "2026-01-03T04:05:06+00:00",
        "2026-01-02T00:00:00+00:00",
    ]


# --- Again --------------------------------------------------------------------------------------


def test_a_second_sweep_answers_only_what_is_missing(tmp_path: Path, out: Path) -> None:
    pattern = str(tmp_path / "*.pb")
    dump(tmp_path / "a.pb", seed=1)
    dump(tmp_path / "b.pb", seed=2)
    first = sweep(pattern, {"today": {}}, out)
    assert (first.answered, first.had_row) == (2, 0)
    again = sweep(pattern, {"today": {}}, out)
    assert (again.answered, again.had_row) == (0, 2)
    more = sweep(pattern, {"today": {}, "thresholds": THRESHOLDS}, out)
    assert (more.answered, more.had_row) == (4, 2)
    dump(tmp_path / "b.pb", seed=3)
    changed = sweep(pattern, {"today": {}}, out)
    assert (changed.answered, changed.had_row) == (1, 1)
    moved = sweep(pattern, {"today": {}}, out, now="2026-04-01")
    assert (moved.answered, moved.had_row) == (2, 0)
    assert moved.table().num_rows == 2
    assert read(out).num_rows == 8 and read(out, current=False).num_rows == 9


def test_of_a_dump_that_changed_only_the_newest_row_is_current(tmp_path: Path, out: Path) -> None:
    # The totals of a data set must not count a cluster twice.
    path = tmp_path / "a.pb"
    hashes = []
    for seed in (1, 2, 1):  # The third dump is the first one again.
        dump(path, seed=seed)
        result = sweep(path, {"today": {}}, out)
        assert (result.answered, result.had_row) == (1, 0)
        (row,) = result.table().to_pylist()
        assert read(out).to_pylist() == [row]
        hashes.append(row["input_sha256"])
    assert hashes[0] == hashes[2] != hashes[1]
    everything = read(out, current=False).sort_by("written")
    assert everything["input_sha256"].to_pylist() == hashes
    assert len(set(everything["written"].to_pylist())) == 3
    path.unlink()
    assert sweep(path, {"today": {}}, out).table()["error_kind"].to_pylist() == ["FileNotFoundError"]
    dump(path, seed=1)
    assert sweep(path, {"today": {}}, out).table()["error_kind"].to_pylist() == [None]
    assert read(out).num_rows == 1


def test_the_manual_has_the_columns_and_their_types() -> None:
    import pyarrow as pa

    from ebb.fleet import rows

    kinds = {
        "text": pa.types.is_string,
        "integer": pa.types.is_int64,
        "real": pa.types.is_float64,
        "bool": pa.types.is_boolean,
        "time": lambda each: each == pa.timestamp("ms", "UTC"),
        "map of text": lambda each: each == pa.map_(pa.string(), pa.string()),
        "map of integer": lambda each: each == pa.map_(pa.string(), pa.int64()),
        "list of text": lambda each: each == pa.list_(pa.string()),
        "list of struct": lambda each: pa.types.is_list(each) and pa.types.is_struct(each.value_type),
    }
    manual = (Path(__file__).parents[2] / "docs" / "tables.md").read_text().partition("\n## sweep\n")[2]
    described = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", manual.partition("\n## ")[0], re.MULTILINE)
    assert [name for name, _ in described] == rows.schema().names
    for name, kind in described:
        assert kinds[kind](rows.schema().field(name).type), name


def test_the_query_of_the_manual_counts_a_changed_dump_once(tmp_path: Path, out: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    manual = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()
    query = re.search(r'duckdb -c "(.*?)"\n', manual, re.DOTALL)
    assert query is not None
    path = tmp_path / "a.pb"
    dump(path, seed=1)
    sweep(path, {"today": {}}, out)
    dump(path, seed=2)
    result = sweep([path, Generated("uniform", 5)], {"today": {}}, out)
    rows = duckdb.sql(query[1].replace("results/", f"{out}/")).fetchall()
    assert rows == [(result.version, "today", "{}", 2, 0, sum(result.table()["removed"].to_pylist()))]


def test_a_result_has_the_rows_of_its_sweep_and_no_others(tmp_path: Path, out: Path) -> None:
    sweep([Generated("uniform", 5, 1), Generated("uniform", 5, 2)], {"today": {}, "thresholds": THRESHOLDS}, out)
    again = sweep(Generated("uniform", 5, 2), {"today": {}}, out)
    assert (again.answered, again.had_row) == (0, 1)
    assert keys(again.table()) == [("uniform-5-2", "today", "{}")]


def test_the_order_and_the_spelling_of_options_do_not_matter() -> None:
    one = questions({"q": {"options": {"optimize": True, "min-replica-count": 2}}})
    two = questions([{"name": "q", "options": {"min_replica_count": 2, "optimize": True}}])
    other = questions({"q": {"options": {"min_replica_count": 3, "optimize": True}}})
    assert one[0].sha256 == two[0].sha256 != other[0].sha256


def test_the_content_of_a_file_of_prices_counts_and_not_its_path(tmp_path: Path) -> None:
    hashes = []
    for name, price in (("a.yaml", 1), ("b.yaml", 1), ("c.yaml", 2)):
        (tmp_path / name).write_text(f"currency: USD\nprices: []\ndefault: {price}\n")
        hashes.append(questions({"q": {"options": {"prices": name}}}, folder=str(tmp_path))[0].sha256)
    assert hashes[0] == hashes[1] != hashes[2]


def test_without_a_time_every_sweep_of_a_data_set_plans_for_the_same_time(tmp_path: Path, out: Path) -> None:
    path = dump(tmp_path / "a.pb")
    sweep(path, {"today": {}}, out, now=None)
    about = json.loads((out / "_sweep.json").read_text())
    (out / "_sweep.json").write_text(json.dumps({**about, "now": about["now"] - 86_400}))
    assert sweep(path, {"today": {}}, out, now=None).answered == 1
    assert sweep(path, {"today": {}}, out, now=None).answered == 0


def test_an_iterator_is_read_lazily_and_an_interrupt_keeps_the_rows_until_then(tmp_path: Path, out: Path) -> None:
    read_so_far = []

    def clusters(end: int) -> Iterator[Generated]:
        for seed in range(end):
            read_so_far.append(seed)
            yield Generated("uniform", 5, seed)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(clusters(400), {"today": {}}, out)
    kept = read(out).num_rows
    assert 0 < kept < 400
    rest = sweep([Generated("uniform", 5, seed) for seed in range(400)], {"today": {}}, out)
    assert (rest.answered, rest.had_row) == (400 - kept, kept)
    assert len(set(keys(rest.table()))) == rest.table().num_rows == 400


@pytest.mark.parametrize(
    ("number", "error"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit), (signal.SIGHUP, SystemExit)],
)
def test_signals_while_rows_are_written_lose_none(
    out: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, error: type[BaseException]
) -> None:
    write, written = DataSet.write, []

    def interrupted_write(self: DataSet, table: Any) -> None:
        os.kill(os.getpid(), number)
        write(self, table)
        os.kill(os.getpid(), number)
        written.append(table.num_rows)

    def clusters() -> Iterator[Generated]:
        yield from (Generated("uniform", 5, seed) for seed in range(400))
        os.kill(os.getpid(), number)
        raise AssertionError("a signal acts at once while the caller's iterator is asked")

    monkeypatch.setattr(DataSet, "write", interrupted_write)
    # Tests before this one may have left handlers, as Ray does.
    found = {each: signal.signal(each, signal.SIG_DFL) for each in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = [signal.getsignal(each) for each in SIGNALS]
    try:
        with pytest.raises(error) as raised:
            sweep(clusters(), {"today": {}}, out)
        if error is SystemExit:
            assert raised.value.code == 128 + number  # type: ignore[attr-defined]
        assert [signal.getsignal(each) for each in SIGNALS] == before
    finally:
        for each, handler in found.items():
            signal.signal(each, handler)
    assert read(out).num_rows == sum(written) > 0


def test_an_own_handler_of_a_signal_acts_and_the_sweep_goes_on(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = []

    def clusters() -> Iterator[Generated]:
        for seed in range(40):
            os.kill(os.getpid(), signal.SIGTERM)
            yield Generated("uniform", 5, seed)

    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        assert sweep(clusters(), {"today": {}}, out).answered == 40
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM] * 40


# --- Errors -------------------------------------------------------------------------------------


def test_a_cluster_that_fails_is_a_row_and_the_others_are_answered(tmp_path: Path, out: Path) -> None:
    dump(tmp_path / "good.pb")
    (tmp_path / "bad.json").write_text('{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": 7}}]}')
    clusters = [str(tmp_path / "[bg]*.*"), str(tmp_path / "not-there.json"), "file:///not/there/url.json"]
    first = sweep(clusters, {"today": {}, "thresholds": THRESHOLDS}, out)
    rows = first.table().to_pylist()
    assert first.errors == 9
    assert {row["cluster"]: row["error_kind"] for row in rows} == {
        "good": None,
        "bad": "InputError",
        "not-there": "FileNotFoundError",
        "url": "FileNotFoundError",
    }
    assert all("metadata.name" in row["error"] for row in rows if row["cluster"] == "bad")
    # The same bytes give the same error; the file may be there by now.
    again = sweep(clusters, {"today": {}, "thresholds": THRESHOLDS}, out)
    assert (again.answered, again.had_row) == (6, 6)
    dump(tmp_path / "not-there.json")
    third = sweep(clusters, {"today": {}, "thresholds": THRESHOLDS}, out)
    assert (third.answered, third.errors) == (6, 3)
    assert [row["error_kind"] for row in third.table().to_pylist() if row["cluster"] == "not-there"] == [None] * 3
    assert len(set(keys(third.table()))) == third.table().num_rows == 12


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"q": {"options": {"utilisation_threshold": 1}}}, "question q: .*utilisation_threshold"),
        ({"q": {"grid": {"no_such_option": [1, 2]}}}, "question q: .*no_such_option"),
        ({"q": {"then": {"no_such_option": 1}}}, "question q: .*no_such_option"),
        ({"q": {"what_if": {"options": {"no-such-option": 1}}}}, "question q: .*no_such_option"),
        ({"q": {"optoins": {}}}, r"questions\[0\]: unknown field 'optoins'"),
        ({"q": {"ask": "explain"}}, "question q: ask: 'explain'"),
        ({"q": {"ask": "what_if"}}, "question q: what_if and then"),
        ({"q": {"limit": 3}}, "question q: limit"),
        ({"q": {"ask": "blockers", "limit": 0}}, "question q: limit: 0 is not from 1 to 100000"),
        ({"q": {"ask": "blockers", "limit": 100_001}}, "question q: limit: 100001 is not from 1 to 100000"),
        ({"q": {"options": {"scale-down-utilization-threshold": 3}}}, "threshold: is not from 0 to 1"),
        ({"q": {"then": {"scale-down-utilization-threshold": 3}}}, "threshold: is not from 0 to 1"),
        ({"q": {"ask": "frontier", "options": {"budget": 601}}}, "question q: budget: 601 is not from 0 to 600"),
        ({"q": {"what_if": {"objects": 3}}}, "question q: changes: objects: is not a list"),
        ({"q": {"what_if": "objects: []\nobjects: []\n"}}, "question q: what_if: line 2: objects stands there twice"),
        ({"q": {"options": {"min-replica-count": 1, "min_replica_count": 2}}}, "min_replica_count stands there twice"),
        ({"q": {"what-if": {}, "what_if": {}}}, "what_if stands there twice"),
        ({"q": {"grid": {"optimize": True}}}, "question q: grid: optimize: True is not a list"),
        ({"q": {"options": {"now": 1}}}, "question q: options: now"),
        ({"q": {"options": {"prices": "/not/there"}}}, "question q: options: prices: .*/not/there"),
        ({"a b": {}}, r"questions\[0\].name: 'a b'"),
        ([{"name": "q"}, {"name": "q"}], "question q: asks the same twice"),
        ({}, "questions: there is none"),
        ({"q": 3}, r"questions\[0\]: 3 is not a mapping"),
    ],
)
def test_a_wrong_question_is_rejected_before_anything_is_written(out: Path, asked: object, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        sweep(Generated("uniform", 5), asked, out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ({"generate": "uniform", "noeds": 3}, "clusters: unknown field 'noeds'"),
        ({"nodes": 3}, "one of path, url and generate"),
        ({"generate": "uniform", "seeds": "9-1"}, "'9-1' is not a range"),
        ({"generate": "uniform", "nodes": "many"}, "nodes: 'many' is not a number"),
        ({"path": "a.pb", "now": "yesterday"}, "now: 'yesterday' is not a time"),
        ("/not/there/*.pb", r"/not/there/\*.pb: no such file"),
        ("/not/there/{a}/{a}.pb", "placeholder {a} stands there twice"),
        ([Generated("uniform", 5), Generated("uniform", 5)], "are both named 'uniform-5-1'"),
        (3, "clusters: int is not"),
        ({"generate": "nope"}, 'clusters: generate: kind: "nope" is not one of'),
        (Generated("uniform", 0), "clusters: generate: nodes: 0 is not from 1 to 1000000"),
        (Source(Generated("uniform", seed=-1), "a"), "clusters: generate: seed: -1 is not"),
        ({"path": "a.pb", "now": 1_780_315_200_000}, "now: 1780315200000 is not from 0 to .* Unix seconds"),
        (Source("a.pb", "a", now=9_223_372_036_854_776), "now: 9223372036854776 is not from 0 to"),
        ({"path": "a.pb", "now": datetime(2026, 1, 1)}, "now: 2026-01-01 00:00:00 is not a time with a time zone"),
    ],
)
def test_wrong_clusters_are_rejected_before_anything_is_written(out: Path, clusters: object, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        sweep(clusters, {"today": {}}, out)
    assert not out.exists()


@pytest.mark.parametrize("now", [-1, 1_780_315_200_000, 9_223_372_036_854_776, datetime(2026, 1, 1), "1780315200000"])
def test_a_wrong_time_of_the_sweep_is_rejected_before_anything_is_written(out: Path, now: object) -> None:
    with pytest.raises(SweepError, match="^now: "):
        sweep(Generated("uniform", 5), {"today": {}}, out, now=now)
    assert not out.exists()


def test_what_depends_on_the_cluster_is_not_rejected(tmp_path: Path, out: Path) -> None:
    # No other cluster has these names; each is checked again when this one is asked.
    path = dump(tmp_path / "a.pb")
    with ebb.Cluster.load(path) as cluster:
        name = cluster.nodes.to_pydict()["node"][0]
    patch = {"objects": [{"kind": "Node", "metadata": {"name": name}, "$patch": "delete"}]}
    result = sweep(path, {"one": {"options": {"candidates": [name]}}, "two": {"what_if": patch}}, out)
    assert (result.answered, result.errors) == (2, 0)


def test_prices_may_be_the_builtin_catalogue(tmp_path: Path, out: Path) -> None:
    row = sweep(dump(tmp_path / "a.pb"), {"q": {"options": {"prices": "builtin"}}}, out).table().to_pylist()[0]
    assert (row["error"], row["currency"], row["options"]) == (None, "USD", '{"prices": "builtin"}')


def test_a_name_that_is_not_utf_8_is_a_name_with_escapes(tmp_path: Path, out: Path) -> None:
    data = dump(tmp_path / "a.pb").read_bytes()
    folder = os.fsencode(tmp_path / "dumps")
    os.mkdir(folder)
    with open(folder + b"/b\xff.pb", "wb") as file:
        file.write(data)
    with open(folder + b"/c\xff.pb", "wb") as file:
        file.write(b"no dump")
    rows = {row["cluster"]: row for row in sweep(str(tmp_path / "dumps" / "*.pb"), {"q": {}}, out).table().to_pylist()}
    assert set(rows) == {"b\\udcff", "c\\udcff"}
    assert rows["b\\udcff"]["error"] is None
    assert rows["c\\udcff"]["error_kind"] == "InputError"


def test_a_fifo_that_a_glob_matches_is_a_row_with_the_error(tmp_path: Path, out: Path) -> None:
    dump(tmp_path / "a.pb")
    os.mkfifo(tmp_path / "b.pb")  # It has no writer, so opening it waits.
    rows = sweep(str(tmp_path / "*.pb"), {"today": {}}, out).table().to_pylist()
    errors = {row["cluster"]: row["error"] for row in rows}
    assert errors["a"] is None and errors["b"].endswith("b.pb: is not a regular file")


def test_secrets_of_a_url_are_in_no_row(out: Path) -> None:
    url = "http://user:secret1@127.0.0.1:1/a.json?signature=secret2"
    assert without_secrets(url) == "http://127.0.0.1:1/a.json"
    table = sweep({"url": url}, {"today": {}}, out).table()
    assert table["error"].to_pylist() != [None]
    assert "secret" not in str(table.to_pylist())


# --- Workers ------------------------------------------------------------------------------------


def test_a_killed_worker_loses_no_row_and_doubles_none(tmp_path: Path, out: Path) -> None:
    data = dump(tmp_path / "whole.pb").read_bytes()
    deadly = DeadlyDump(tmp_path / "deadly.pb", data, kills=1)
    clusters = [str(deadly.path), *(Generated("uniform", 5, seed) for seed in range(60))]
    # One of two workers is killed with several clusters in hand.
    result = sweep(clusters, {"today": {}}, out)
    assert len(deadly.killed) == result.workers_lost == 1
    assert (result.answered, result.errors) == (61, 0)
    assert len(set(keys(result.table()))) == result.table().num_rows == 61


def test_a_question_with_which_workers_are_lost_is_a_row_with_the_error(tmp_path: Path, out: Path) -> None:
    deadly = DeadlyDump(tmp_path / "deadly.pb", None, kills=3)
    result = sweep([str(deadly.path), Generated("uniform", 5)], {"today": {}}, out, retries=2)
    assert (len(deadly.killed), result.workers_lost, result.errors) == (3, 3, 1)
    rows = {row["cluster"]: row for row in result.table().to_pylist()}
    assert rows["uniform-5-1"]["error"] is None
    assert rows["deadly"]["error_kind"] == "WorkerLost"
    assert "SIGKILL" in rows["deadly"]["error"] and "3 times" in rows["deadly"]["error"]


def test_a_worker_out_of_memory_is_a_row_that_names_it(tmp_path: Path, out: Path) -> None:
    clusters = [Generated("uniform", 50_000), Generated("uniform", 5)]
    result = sweep(clusters, {"today": {}}, out, memory_max=256 << 20)
    rows = {row["cluster"]: row for row in result.table().to_pylist()}
    assert rows["uniform-5-1"]["error"] is None
    assert rows["uniform-50000-1"]["error_kind"] in ("LimitError", "MemoryError", "WorkerLost")
    # Memory may suffice another time.
    again = sweep(clusters[1:], {"today": {}}, out)
    assert (again.answered, again.had_row) == (0, 1)


def test_a_worker_that_gives_no_answer_is_lost_if_there_is_a_limit(tmp_path: Path, out: Path) -> None:
    os.mkfifo(tmp_path / "never.pb")  # A worker that opens it waits for a writer.
    result = sweep(str(tmp_path / "never.pb"), {"today": {}}, out, retries=1, answer_seconds_max=0.05)
    (row,) = result.table().to_pylist()
    assert row["error_kind"] == "WorkerLost" and "gave no answer within 0.05 s, 2 times" in row["error"]
    assert sweep(Generated("uniform", 5), {"today": {}}, out, answer_seconds_max=3600).errors == 0
    with pytest.raises(SweepError, match="answer_seconds_max: 0 is not"):
        sweep(Generated("uniform", 5), {"today": {}}, out, answer_seconds_max=0)


def test_workers_of_another_version_are_an_error(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ebb.fleet.driver.version", lambda: "9.9.9")
    with pytest.raises(SweepError, match="a worker has ebb .*, and this is ebb 9.9.9"):
        sweep(Generated("uniform", 5), {"today": {}}, out)
    assert read(out).num_rows == 0


# --- The data set -------------------------------------------------------------------------------


def test_two_versions_are_an_error_or_a_column(tmp_path: Path, out: Path) -> None:
    path = dump(tmp_path / "a.pb")
    mine = sweep(path, {"today": {}}, out).version
    (out / f"ebb_version={mine}").rename(out / "ebb_version=0.0.9")
    with pytest.raises(SweepError, match=f"has rows of ebb 0.0.9, and this is ebb {mine}"):
        sweep(path, {"today": {}}, out)
    both = sweep(path, {"today": {}}, out, add_version=True)
    assert both.answered == 1
    assert sorted(read(out)["ebb_version"].to_pylist()) == sorted(["0.0.9", mine])
    assert read(out, version="0.0.9").num_rows == 1
    assert plan_changes(read(out, version="0.0.9"), both.table()) == []


def test_plan_changes_names_each_answer_that_differs(tmp_path: Path, out: Path) -> None:
    import pyarrow as pa

    dump(tmp_path / "a.pb", seed=1)
    dump(tmp_path / "b.pb", seed=2)
    table = sweep(str(tmp_path / "*.pb"), {"today": {}}, out).table()
    rows = table.to_pylist()
    other = [{**row, "decision_sha256": "0" * 64, "removed": 0} if row["cluster"] == "b" else row for row in rows]
    removed = next(row["removed"] for row in rows if row["cluster"] == "b")
    changes = plan_changes(table, pa.Table.from_pylist(other, table.schema))
    assert [(each["cluster"], each["before"], each["after"]) for each in changes] == [("b", removed, 0)]
    lacking = plan_changes(table, pa.Table.from_pylist([row for row in rows if row["cluster"] == "a"], table.schema))
    assert [(each["cluster"], each["after"]) for each in lacking] == [("b", None)]


_FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
from ebb.sweep_command import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_is_an_error_and_the_data_set_stays_readable(tmp_path: Path, out: Path) -> None:
    # The largest size of a file stands for a full disk: writing fails in the middle.
    assert sweep({"generate": "uniform", "nodes": 5}, {"today": {}}, out).answered == 1
    spec = tmp_path / "sweep.yaml"
    spec.write_text(
        f"clusters: [{{generate: uniform, nodes: 5, seeds: 1-30}}]\nquestions: {{today: {{}}}}\nnow: {NOW}\nout: {out}\n"
    )
    ended = subprocess.run([sys.executable, "-c", _FULL_DISK, str(spec)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert str(out) in ended.stderr and "File too large" in ended.stderr and "stay readable" in ended.stderr
    assert read(out).num_rows == 1
    assert sweep({"generate": "uniform", "nodes": 5, "seeds": "1-30"}, {"today": {}}, out).answered == 29


def test_what_a_crash_left_unfinished_is_no_row(tmp_path: Path, out: Path) -> None:
    sweep(Generated("uniform", 5), {"today": {}}, out)
    part = next(out.rglob("rows-*.parquet"))
    left = part.with_name(".writing-0123")
    left.write_bytes(part.read_bytes()[:100])
    assert read(out).num_rows == 1
    sweep(Generated("uniform", 5), {"today": {}}, out)
    assert not left.exists()


@pytest.mark.parametrize("size", [0, 100])
def test_a_broken_file_is_named(out: Path, size: int) -> None:
    sweep(Generated("uniform", 5), {"today": {}}, out)
    broken = next(out.rglob("rows-*.parquet"))
    os.truncate(broken, size)
    for use in (lambda: sweep(Generated("uniform", 5), {"today": {}}, out), lambda: read(out)):
        with pytest.raises(SweepError, match=f"{broken.name}: .*; delete the file"):
            use()
    broken.unlink()
    assert sweep(Generated("uniform", 5), {"today": {}}, out).answered == 1


def test_a_place_without_a_data_set_is_an_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere", "memory://nowhere"):
        with pytest.raises(ebb.Error, match="is not the data set of a sweep"):
            read(place)


@pytest.mark.parametrize(("place", "message"), [("", "out: is empty"), ("s3a0://x/y", "s3a0")])
def test_a_place_that_cannot_be_is_an_error(place: str, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        ebb.sweep(Generated("uniform", 5), {"today": {}}, out=place, progress=False)


def test_a_missing_package_of_a_file_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(SweepError, match="s3://bucket/x: Install s3fs"):
        ebb.sweep(Generated("uniform", 5), {"today": {}}, out="s3://bucket/x", progress=False)


def test_two_sweeps_do_not_write_to_one_folder_at_a_time(out: Path) -> None:
    data = DataSet(str(out), "1", False, 0)
    with pytest.raises(SweepError, match="another sweep writes to it"):
        sweep(Generated("uniform", 5), {"today": {}}, out)
    data.close()
    assert sweep(Generated("uniform", 5), {"today": {}}, out, add_version=True).answered == 1


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SweepError, match="has 'thesis.txt' and no _sweep.json"):
        sweep(Generated("uniform", 5), {"today": {}}, tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_data_set_may_be_a_url() -> None:
    out = "memory://sweeps/url"
    assert ebb.sweep(Generated("uniform", 5), {"today": {}}, out=out, now=NOW, progress=False).answered == 1
    again = ebb.sweep(Generated("uniform", 5), {"today": {}}, out=out, now=NOW, progress=False)
    assert (again.answered, again.had_row, again.table().num_rows) == (0, 1, 1)


def test_other_readers_read_the_partitions(tmp_path: Path, out: Path) -> None:
    import pyarrow.dataset

    version = sweep(Generated("uniform", 5), {"today": {}, "thresholds": THRESHOLDS}, out).version
    table = pyarrow.dataset.dataset(out, partitioning="hive").to_table()
    assert sorted(table["question"].to_pylist()) == ["thresholds", "thresholds", "today"]
    assert set(table["ebb_version"].to_pylist()) == {version}


def test_memory_does_not_grow_with_the_number_of_plans(tmp_path: Path, out: Path) -> None:
    # In this process, as a worker answers: after a first part, 20 times as many plans need no more memory.
    from ebb.fleet.answer import Piece, answer, version

    asked = questions({"today": {}, "thresholds": THRESHOLDS})
    data = dump(tmp_path / "a.pb", nodes=50).read_bytes()
    piece = Piece(Source(data, "a"), 1_772_000_000, (0, 1, 2))

    def peak_after(count: int) -> int:
        for _ in range(count):
            assert answer([piece], asked, version()).count == 3
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak_after(20)
    assert peak_after(400) - before < 8 << 10  # KiB.


# --- Progress -----------------------------------------------------------------------------------


def test_progress_says_rate_and_time_left() -> None:
    counts = Counts(total=10_000, answered=1_200, had_row=800, errors=2, workers_lost=1)
    assert (
        line(counts, 10.0, 2)
        == "2,000 of 10,000 answers (20%), 800 had a row, 120/s, 67 s left, 2 errors, 1 worker lost"
    )
    assert line(Counts(total=None), 1.0, 0) == "0 answers, 0/s, waiting for cores"
    assert line(Counts(total=0), 0.0, 2) == "0 of 0 answers (0%), 0/s"


@pytest.mark.parametrize("package", ["pyarrow", "fsspec"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(package: str, tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None  # Importing it raises ModuleNotFoundError.
import ebb
try:
    ebb.sweep([], {{"today": {{}}}}, out={str(tmp_path / "out")!r})
except ebb.fleet.SweepError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"ebb.sweep needs the package {package}: pip install fsspec pyarrow pyyaml ")
