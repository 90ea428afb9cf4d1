"""Tables are read by pyarrow, polars, pandas and DuckDB, and their schemas are those of docs/tables.md."""

import gc
import pathlib
import re
import weakref

import pytest

import ebb
from conftest import NOW, SMALL, small_dump

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "tables.md"


@pytest.fixture(scope="module")
def tables(company):
    plan = company.plan(optimize=True, iterations=5, trials=2)
    made = [company.cluster, company.nodes, company.pods, plan.plan, plan.removals, plan.moves, plan.kept]
    made += [company.blockers(limit=3).blockers, company.frontier(iterations=2).points]
    return {table.name: table for table in made}


NAMES = ["clusters", "nodes", "pods", "plans", "removals", "moves", "kept", "blockers", "frontier"]


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_reads_what_the_table_has(tables, name):
    pa = pytest.importorskip("pyarrow")
    ours = tables[name]
    read = pa.table(ours)
    read.validate(full=True)
    assert read.column_names == ours.column_names
    assert read.num_rows == ours.num_rows == len(ours) > 0
    assert read.to_pydict() == ours.to_pydict()
    assert read.schema == pa.schema(ours)
    assert read.schema.metadata[b"ebb.table"] == name.encode()
    assert read.schema.metadata[b"ebb.schema"] == b"1"


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_is_the_one_of_the_documents(tables, name):
    """A column that goes, or changes its type or unit, must have a new version (docs/tables.md)."""
    pa = pytest.importorskip("pyarrow")
    section = DOCS.read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
    written = re.findall(r"^\| `(\w+)` \| (\S+) \| ([^|]*?) *\|", section, re.M)
    words = {"string": "text", "int64": "integer", "double": "real", "bool": "bool", "timestamp[s, tz=UTC]": "time"}
    schema = pa.schema(tables[name])
    made = [
        (field.name, words[str(field.type)], (field.metadata or {}).get(b"unit", b"").decode()) for field in schema
    ]
    assert made == written


@pytest.mark.parametrize("name", NAMES)
def test_polars_reads_it(tables, name):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(tables[name])
    assert frame.columns == tables[name].column_names
    assert frame.to_dict(as_series=False) == tables[name].to_pydict()


@pytest.mark.parametrize("name", NAMES)
def test_pandas_reads_it(tables, name):
    pd = pytest.importorskip("pandas")
    if not hasattr(pd.DataFrame, "from_arrow"):
        pytest.skip("this pandas has no DataFrame.from_arrow")
    frame = pd.DataFrame.from_arrow(tables[name])
    assert list(frame.columns) == tables[name].column_names
    assert len(frame) == tables[name].num_rows


def test_duckdb_queries_it(tables):
    duckdb = pytest.importorskip("duckdb")
    moves = tables["moves"]
    rows = duckdb.sql("select from_node, count(*) from moves group by from_node").fetchall()
    expected = {}
    for node in moves.to_pydict()["from_node"]:
        expected[node] = expected.get(node, 0) + 1
    assert dict(rows) == expected


def test_the_tables_agree_with_the_plan(company):
    plan = company.plan()
    removals = plan.removals.to_pydict()
    assert removals["node"] == plan.nodes
    assert removals["position"] == list(range(1, len(plan) + 1))
    assert sum(removals["moved_pods"]) == plan.moves.num_rows == plan.summary["movedPods"]
    assert plan.kept.num_rows == plan.summary["kept"]
    row = plan.plan.to_pylist()[0]
    assert (row["removed"], row["moved_pods"], row["now"]) == (len(plan), plan.moves.num_rows, plan.now)
    assert row["nodes"] == company.nodes.num_rows == company.cluster.to_pydict()["nodes"][0]


def test_a_table_is_read_twice_and_outlives_its_plan():
    pa = pytest.importorskip("pyarrow")
    cluster = ebb.Cluster.load(small_dump(), **SMALL)
    nodes = cluster.nodes
    first = pa.table(nodes)
    cluster.close()
    del cluster
    second = pa.table(nodes)
    gone = weakref.ref(nodes._columns) if hasattr(nodes._columns, "__weakref__") else None
    del nodes
    gc.collect()
    assert gone is None or gone() is None
    assert first == second
    assert first["node"].to_pylist() == ["a", "b"]


def test_no_value_is_copied():
    pa = pytest.importorskip("pyarrow")
    table = ebb.Cluster.load(small_dump(), **SMALL).nodes
    one, other = (pa.table(table)["cpu_allocatable_milli"].chunk(0).buffers()[1].address for _ in range(2))
    assert one == other


def test_capsules_that_nobody_reads_are_freed(small):
    table = small.nodes
    for _ in range(1000):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()


def test_a_plan_of_a_file_has_the_same_tables(small):
    plan = ebb.Plan.from_json(small.plan().json)
    assert plan.moves.to_pydict() == small.plan().moves.to_pydict()


def test_a_document_that_is_no_plan_has_no_table():
    with pytest.raises(ebb.InputError):
        ebb.Plan(b"{}").moves
    with pytest.raises(ebb.InputError):
        ebb.Plan(b"nonsense").moves


def test_a_cluster_that_lacks_pods_has_no_tables(company):
    cluster = ebb.Cluster.load({"kind": "List", "items": small_dump()["items"][:2]}, now=NOW)
    with pytest.raises(ebb.IncompleteError):
        cluster.nodes
