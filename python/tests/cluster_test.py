"""Clusters: loading, changing, asking, closing; and bad input of every kind."""

import gzip
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

import ebb
from conftest import NOW, PROGRAM, SMALL, as_json, dump_of, node, pod, replica_set, small_dump


# --- Loading -------------------------------------------------------------------------------------------


def test_a_dump_is_loaded_from_a_path_bytes_and_a_mapping(tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(as_json(small_dump()))
    plans = [
        ebb.Cluster.load(source, **SMALL).plan()
        for source in (
            path,
            str(path),
            as_json(small_dump()),
            bytearray(as_json(small_dump())),
            memoryview(as_json(small_dump())),
            small_dump(),
            gzip.compress(as_json(small_dump())),
        )
    ]
    assert len(set(plans)) == 1
    assert plans[0].nodes == ["a"]


def test_the_plan_is_the_one_of_the_command_line(company, company_file):
    printed = subprocess.run(
        [PROGRAM, "plan", company_file, "-o", "json", "--now", "2026-06-01T12:00:00Z"], capture_output=True, check=True
    )
    assert company.plan().json == printed.stdout


def test_a_generated_cluster_is_that_of_the_command_line(tmp_path):
    path = tmp_path / "c.pb"
    subprocess.run([PROGRAM, "gen", "mixed", "--nodes", "30", "--seed", "7", "-o", path], check=True)
    ours = ebb.generate("mixed", 30, 7, options={"now": NOW}).plan()
    assert ours == ebb.Cluster.load(path, now=NOW).plan()


def test_export_is_a_dump_of_the_same_cluster(company, company_file):
    assert ebb.Cluster.load(company_file, now=NOW).plan() == company.plan()


def test_now_is_a_datetime_a_number_or_a_text(small):
    of_number = small.plan(now=NOW)
    assert small.plan(now=datetime.fromtimestamp(NOW, timezone.utc)) == of_number
    assert small.plan(now="2026-06-01T12:00:00Z") == of_number
    assert of_number.now == datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


# --- A cluster that does not load -------------------------------------------------------------------------


def test_a_malformed_object_is_named_with_its_field_and_file(tmp_path):
    path = tmp_path / "bad.json"
    path.write_bytes(as_json(dump_of(node("a", cpu="4x"))))
    with pytest.raises(ebb.InputError) as raised:
        ebb.Cluster.load(path)
    error = raised.value
    assert error.file == str(path)
    assert error.object == "Node a"
    assert error.field == "status.allocatable.cpu"
    assert error.code == "INVALID_ARGUMENT"
    assert str(error).startswith(f"{path}: ") and "4x" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.object, again.field) == (
        ebb.InputError,
        str(error),
        error.object,
        error.field,
    )


@pytest.mark.parametrize("dump", [b"", b"{", b"[1, 2", b"\x00\xff", b"{}", b"a: [", gzip.compress(b"{")[:-3]])
def test_bytes_that_are_not_a_dump_are_an_error(dump):
    with pytest.raises(ebb.Error):
        ebb.Cluster.load(dump).plan()


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ebb.Cluster.load(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        ebb.Cluster.load(tmp_path)


@pytest.mark.parametrize("source", [None, 3, 2.5, ["a"], object(), {1, 2}])
def test_a_source_of_another_type_is_an_error(source):
    with pytest.raises(ebb.InputError):
        ebb.Cluster.load(source)


def test_a_mapping_that_json_has_not_is_an_error():
    circle = {}
    circle["items"] = [circle]
    for dump in (circle, {"items": [object()]}, {"items": [{1, 2}]}):
        with pytest.raises(ebb.InputError):
            ebb.Cluster.load(dump)


def test_an_empty_cluster_allows_no_plan():
    with pytest.raises(ebb.Error) as raised:
        ebb.Cluster.load(dump_of(), **SMALL).plan()
    assert "no nodes" in str(raised.value)


def test_a_cluster_that_lacks_pods_says_how_to_plan_all_the_same():
    cluster = ebb.Cluster.load(dump_of(node("a"), node("b")), now=NOW)
    with pytest.raises(ebb.IncompleteError) as raised:
        cluster.plan()
    assert "allow_incomplete=True" in str(raised.value)
    assert "ebb_" not in str(raised.value)
    assert not cluster.plan(allow_incomplete=True).complete


def test_limits_are_errors():
    with pytest.raises(ebb.LimitError):
        ebb.Cluster.load(small_dump(), objects_max=3)
    with pytest.raises(ebb.LimitError):
        ebb.Cluster.load(small_dump(), dump_bytes_max=100)
    for wrong in (0, -1, 2**64, 10**40, True, "5", 2.0, None):
        with pytest.raises(ebb.OptionError):
            ebb.Cluster.load(small_dump(), objects_max=wrong)


def test_a_name_must_be_one():
    for wrong in ("A B", "x" * 64, 5):
        with pytest.raises(ebb.Error):
            ebb.Cluster.load(small_dump(), name=wrong)


# --- Options -------------------------------------------------------------------------------------------


def test_an_unknown_option_is_named_before_anything_runs(small):
    with pytest.raises(ebb.OptionError) as raised:
        small.plan(optimise=True)
    assert raised.value.field == "optimise"
    assert "did you mean optimize?" in str(raised.value)
    with pytest.raises(ebb.OptionError):
        ebb.Cluster.load("no such file", options={"treshold": 1})
    with pytest.raises(ebb.OptionError):
        ebb.check_options({"nonsense": 1})
    ebb.check_options({"scale_down_utilization_threshold": 0.6, "optimize": True, "budget": 2})


def test_an_option_of_rounds_is_rejected_with_the_reason(small):
    with pytest.raises(ebb.OptionError) as raised:
        small.plan(scale_down_unneeded_time=60)
    assert "rounds" in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"optimize": 1},
        {"optimize": "yes"},
        {"scale_down_utilization_threshold": "0.5"},
        {"scale_down_utilization_threshold": True},
        {"scale_down_utilization_threshold": float("nan")},
        {"scale_down_utilization_threshold": float("inf")},
        {"scale_down_utilization_threshold": 10**400},
        {"scale_down_utilization_threshold": 1.5},
        {"scale_down_utilization_threshold": -0.1},
        {"min_replica_count": 1.0},
        {"min_replica_count": 10**30},
        {"min_replica_count": -1},
        {"optimize": True, "iterations": 2**70},
        {"optimize": True, "iterations": -1},
        {"optimize": True, "seed": 2**40},
        {"optimize": True, "budget": -1},
        {"optimize": True, "budget": 10**9},
        {"optimize": True, "budget": "1s"},
        {"optimize": True, "objective": "money"},
        {"optimize": True, "objective": "cost"},
        {"budget": 5},
        {"max_evictions": 5},
        {"nominated_share": 0.5},
        {"stable_margin": 0.5},
        {"candidate_order": "best"},
        {"candidate_order": 3},
        {"startup_taint": "a"},
        {"startup_taint": ["a", 3]},
        {"candidates": "a"},
        {"candidates": ["no-such-node"]},
        {"now": datetime(2026, 1, 1)},
        {"now": "yesterday"},
        {"now": 2**62},
        {"now": 1.5},
        {"max_workload_share": 0},
        {"max_workload_share": 2},
        {"trials": 10**6},
        {"scale_down_simulation_timeout": -5},
        {"nodes": ["1:2"]},
        {"nodes": ["3:2:g"]},
        {"nodes": ["a:b:c"]},
        {"kubernetes_version": "1.12"},
        {"blocking_system_pod_distruption_timeout": timedelta(days=10**6)},
        {"expendable_pods_priority_cutoff": 2**31},
    ],
)
def test_a_wrong_value_is_an_error_that_names_an_option(small, options):
    with pytest.raises((ebb.OptionError, ebb.NotFoundError)) as raised:
        small.plan(**options)
    error = raised.value
    if isinstance(error, ebb.OptionError):
        assert error.field in options, error
        assert str(error).startswith(error.field + ": ")


def test_none_is_the_default(small):
    assert small.plan(scale_down_utilization_threshold=None, optimize=None) == small.plan()


def test_options_change_the_plan(small):
    assert small.plan(scale_down_utilization_threshold=0).nodes == []
    assert small.plan(nodes=["2:5:default"]).nodes == []
    assert small.plan(candidates=["b"]).nodes == ["b"]


def test_options_of_load_are_the_defaults_of_questions():
    cluster = ebb.Cluster.load(
        small_dump(), now=NOW, options={"assume_complete": True, "scale_down_utilization_threshold": 0}
    )
    assert cluster.plan().nodes == []
    assert cluster.plan(scale_down_utilization_threshold=0.5).nodes == ["a"]


def test_an_option_of_loading_reads_the_cluster_again(small):
    small.apply([{**pod("x", "b"), "spec": {**pod("x", "b")["spec"], "priority": -5}}])
    assert small.plan().summary["pods"] == 3
    assert small.plan(expendable_pods_priority_cutoff=0).summary["pods"] == 2
    small.apply([ebb.Deleted("Pod", "x", "default")])
    assert small.plan(expendable_pods_priority_cutoff=0).summary["pods"] == 2
    assert small.plan().summary["pods"] == 2


def test_files_of_groups_and_prices_are_paths_or_texts(small, tmp_path):
    text = "nodeGroups:\n- name: all\n  nodeSelector: {kubernetes.io/hostname: a}\n  minSize: 1\n"
    (tmp_path / "groups.yaml").write_text(text)
    assert small.plan(node_groups=text).nodes == small.plan(node_groups=tmp_path / "groups.yaml").nodes
    with pytest.raises(FileNotFoundError):
        small.plan(node_groups="no-such.yaml")
    with pytest.raises(ebb.InputError) as raised:
        small.plan(node_groups="nodeGroups:\n- nam: all\n")
    assert "nam" in str(raised.value)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\n")
    with pytest.raises(ebb.InputError):
        small.plan(node_groups=tmp_path / "bytes.yaml")


# --- Changes -------------------------------------------------------------------------------------------


def test_changes_are_applied_together_and_counted(small):
    assert small.version == 1
    assert small.apply([node("c"), pod("r", "c")]) == 2
    assert small.plan().summary["nodes"] == 3
    assert small.apply([ebb.Deleted("Pod", "r", "default"), ebb.Deleted("Node", "c")]) == 3
    assert small.plan().summary["nodes"] == 2


def test_a_wrong_change_changes_nothing(small):
    before = small.plan()
    for wrong in (
        [node("c"), node("d", cpu="much")],
        [node("c"), {"kind": "Pod"}],
        [node("c"), b"{"],
        [node("c"), b"k8s\x00garbage"],
        [node("c"), ebb.Deleted("Pods", "x")],
        [node("c"), 5],
        [node("c"), {"kind": object()}],
    ):
        with pytest.raises(ebb.InputError):
            small.apply(wrong)
    assert small.version == 1
    assert small.plan() == before


# --- Answers -------------------------------------------------------------------------------------------


def test_explain_names_the_obstacle_and_an_unknown_node_is_an_error(company):
    kept = company.plan().kept.to_pydict()["node"][0]
    explained = company.explain(kept)
    assert explained.to_dict()["nodes"][0]["node"] == kept
    with pytest.raises(ebb.NotFoundError):
        company.explain("no-such-node")
    with pytest.raises(ebb.OptionError):
        company.explain()
    with pytest.raises(ebb.OptionError):
        company.explain(3)


def test_blockers_frontier_and_what_if_are_those_of_the_command_line(company, company_file, tmp_path):
    def printed(*arguments):
        now = ["--now", "2026-06-01T12:00:00Z"]
        return subprocess.run([PROGRAM, *arguments, "-o", "json", *now], capture_output=True, check=True).stdout

    assert company.blockers(limit=5).json == printed("blockers", company_file, "--limit", "5")
    assert company.frontier(iterations=5).json == printed("frontier", company_file, "--iterations", "5")
    changes = tmp_path / "changes.yaml"
    changes.write_text(f"objects:\n- kind: Node\n  metadata: {{name: {company.plan().nodes[0]}}}\n  $patch: delete\n")
    compared = company.what_if(changes)
    assert compared.json == printed("plan", company_file, "--what-if", changes)
    assert company.what_if(changes.read_text()) == compared


def test_what_if_compares_options(large):
    compared = large.what_if(then={"scale_down_utilization_threshold": 0})
    assert compared.no_more
    assert compared == ebb.compare(large.plan(), large.plan(scale_down_utilization_threshold=0))
    assert large.what_if(then={"kubernetes_version": "1.37"}) == ebb.compare(
        large.plan(), large.plan(kubernetes_version="1.37")
    )
    with pytest.raises(ebb.OptionError):
        large.what_if({"objects": []}, then={"kubernetes_version": "1.37"})
    with pytest.raises(ebb.OptionError):
        large.what_if(then={"nonsense": 1})
    for nothing in ({"objekts": []}, {"objects": []}, "objects: []\n"):
        with pytest.raises(ebb.InputError):
            large.what_if(nothing)
    with pytest.raises(ebb.OptionError):
        large.what_if()


def test_an_answer_is_a_value(company):
    plan = company.plan()
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert ebb.Plan.from_json(plan.json) == plan
    assert hash(ebb.Plan.from_json(plan.json)) == hash(plan)
    assert len(plan) == len(plan.nodes) == plan.summary["removed"]
    assert plan.to_dict() == json.loads(plan.json)
    for wrong in (b"", b"[]", b"{}", company.blockers(limit=1).json):
        with pytest.raises(ebb.InputError):
            ebb.Plan.from_json(wrong)


@pytest.mark.parametrize("kind", [ebb.Plan, ebb.Blockers, ebb.Frontier, ebb.Comparison])
def test_a_document_that_lacks_its_parts_is_an_error_when_it_is_read(kind):
    with pytest.raises(ebb.InputError, match="missing"):
        kind.from_json(as_json({"kind": kind._kind}))


def test_none_is_no_namespace_of_a_deletion(small):
    small.apply([ebb.Deleted("Node", "b", None, None)])
    assert small.nodes.to_pydict()["node"] == ["a"]
    with pytest.raises(ebb.InputError, match="Deleted: name: 3 is not a text"):
        small.apply([ebb.Deleted("Node", 3)])


def test_a_list_of_objects_is_a_dump():
    whole = ebb.Cluster.load(small_dump(), **SMALL).plan()
    assert ebb.Cluster.load(small_dump()["items"], **SMALL).plan() == whole


def test_prices_may_be_the_builtin_catalogue(company):
    by_name, by_text = company.plan(prices="builtin").summary, company.plan(prices="base: builtin\n").summary
    assert by_name["currency"] == by_text["currency"]
    assert by_name["savedPerHour"] == by_text["savedPerHour"]


def test_a_search_finds_at_least_the_plan_and_is_repeatable(large):
    first = large.plan(optimize=True, iterations=20)
    assert first == large.plan(optimize=True, iterations=20)
    assert len(first) >= len(large.plan())
    assert first.summary["search"]["iterations"] == 20
    assert not first.interrupted


def test_a_notebook_shows_a_table_that_escapes_names():
    dump = dump_of(node("a"), node("b"), replica_set(), pod("p", "a"), pod("q", "b"))
    html = ebb.Cluster.load(dump, **SMALL).plan()._repr_html_()
    assert "1 of 2 nodes can go" in html and "<table>" in html and "width:50.0%" in html
    document = ebb.Cluster.load(dump, **SMALL).plan().to_dict()
    document["remove"][0]["node"] = "<script>alert(1)</script>"
    assert "<script>" not in ebb.Plan.from_json(json.dumps(document))._repr_html_()


# --- Closed, and threads ---------------------------------------------------------------------------------


def test_a_closed_cluster_answers_nothing():
    with ebb.Cluster.load(small_dump(), **SMALL) as cluster:
        plan = cluster.plan()
    for call in (
        cluster.plan,
        cluster.blockers,
        cluster.frontier,
        lambda: cluster.what_if(then={"optimize": True}),
        cluster.export,
        cluster.status,
        lambda: cluster.explain("a"),
        lambda: cluster.apply([]),
        lambda: cluster.nodes,
        lambda: cluster.version,
    ):
        with pytest.raises(ebb.ClosedError):
            call()
    cluster.close()
    assert plan.moves.num_rows == len(plan.moves.to_pylist())  # A plan does not need its cluster.


def test_threads_use_one_cluster_at_the_same_time(company):
    expected = {name: company.plan(scale_down_utilization_threshold=name) for name in (0.2, 0.5, 0.8)}
    failures = []

    def ask(threshold):
        try:
            for _ in range(20):
                assert company.plan(scale_down_utilization_threshold=threshold) == expected[threshold]
                assert company.nodes.num_rows == 63
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(threshold,)) for threshold in expected for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_cluster_that_another_thread_closes_gives_plans_or_an_error():
    cluster = ebb.generate("uniform", 50, options={"now": NOW})
    first = cluster.plan()
    outcomes = []

    def ask():
        for budget in range(200):
            try:
                outcomes.append(cluster.plan(now=NOW + budget % 3).nodes == first.nodes)
            except ebb.ClosedError:
                outcomes.append("closed")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not outcomes:
        time.sleep(0)
    cluster.close()
    for thread in threads:
        thread.join()
    assert set(outcomes) <= {True, "closed"} and "closed" in outcomes


def test_other_threads_run_while_a_search_runs(large):
    """Without the GIL: the counting thread gets on while the search holds its own thread."""
    done = threading.Event()
    counted = 0

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    while counted == 0:
        time.sleep(0)
    before = counted
    large.plan(optimize=True, iterations=30)
    during = counted - before
    done.set()
    thread.join()
    assert during > 1000


# --- Ctrl-C ----------------------------------------------------------------------------------------------


def interrupted(code):
    """Runs the code in a process of its own, and interrupts it once for each READY that it prints.

    A signal may come before the question begins, so the code prints READY within a `try`, and tries again.  The waits
    become longer, so that a signal comes during the question in the end.
    """
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    attempts = 0
    while (line := process.stdout.readline()) == "READY\n":
        attempts += 1
        time.sleep(0.01 * attempts)
        os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate()
    return process.returncode, line, error


def test_keyboard_interrupt_ends_a_search_with_the_best_so_far(large_file):
    code = f"""
import signal, ebb
c = ebb.Cluster.load({str(large_file)!r}, now={NOW})
first = len(c.plan())
plan = None
while plan is None:
    try:
        print("READY", flush=True)
        plan = c.plan(optimize=True, budget=120)
    except KeyboardInterrupt:
        pass  # It came between two lines of Python, outside of the search.
print(plan.interrupted, len(plan) >= first, flush=True)
"""
    status, out, error = interrupted(code)
    assert (status, out) == (0, "True True\n"), error


def test_keyboard_interrupt_ends_other_questions(large_file):
    code = f"""
import signal, ebb
c = ebb.Cluster.load({str(large_file)!r}, now={NOW})
try:
    print("READY", flush=True)
    while True:
        c.blockers(limit=10000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    status, out, error = interrupted(code)
    assert (status, out) == (0, "interrupted\n"), error


def test_the_version_is_that_of_the_program():
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    assert ebb.__version__ in printed
    assert ebb.version_info.version == ebb.__version__


def test_every_option_of_the_library_is_an_option_of_the_type():
    assert set(ebb.Options.__annotations__) == set(ebb.option_names())


def test_py_typed_is_there():
    assert (pathlib.Path(ebb.__file__).parent / "py.typed").exists()


# --- Cheaper nodes -------------------------------------------------------------------------------------

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_a_plan_that_buys_nodes_is_the_one_of_the_command_line():
    cluster = ebb.Cluster.load(EXAMPLES / "replace_cluster.yaml", now=NOW)
    files = {"prices": EXAMPLES / "prices.yaml", "machine_types": EXAMPLES / "machine_types.yaml"}
    plan = cluster.plan(replace=True, scale_down_utilization_threshold=1, **files)
    flags = [f"--{name.replace('_', '-')}={path}" for name, path in files.items()]
    command = [PROGRAM, "plan", EXAMPLES / "replace_cluster.yaml", "-o", "json", "--replace"]
    now = ["--now", "2026-06-01T12:00:00Z"]
    printed = subprocess.run(
        [*command, *now, "--scale-down-utilization-threshold=1", *flags], capture_output=True, check=True
    )
    assert plan.json == printed.stdout
    (bought,) = plan.purchases.buy
    assert isinstance(bought, ebb.Purchase)
    assert (bought.machine_type, bought.group, bought.pods) == ("m8", "general", 3)
    assert plan.purchases.saved_per_hour == pytest.approx(0.19)
    assert plan.purchases.saved_per_hour > plan.purchases.saved_per_hour_without
    assert plan.purchases.assumptions and plan.purchases.why_none == ""
    assert {each["to_node"] for each in plan.moves.to_pylist()} == {bought.node}
    assert "First buy m8 for general" in plan._repr_html_()
    assert pickle.loads(pickle.dumps(plan)).purchases == plan.purchases


def test_options_of_purchases_are_checked():
    cluster = ebb.Cluster.load(EXAMPLES / "replace_cluster.yaml", now=NOW)
    assert cluster.plan().purchases is None
    for options, field in (
        ({"max_new_nodes": 2}, "max_new_nodes"),
        ({"machine_types": EXAMPLES / "machine_types.yaml"}, "machine_types"),
        ({"replace": True, "prices": "builtin", "max_new_nodes": 101}, "max_new_nodes"),
        ({"replace": True, "prices": "builtin", "min_saving": 2}, "min_saving"),
        ({"replace": True, "prices": "builtin", "move_cost": -1}, "move_cost"),
        ({"replace": 1}, "replace"),
    ):
        with pytest.raises(ebb.OptionError) as error:
            cluster.plan(**options)
        assert error.value.field == field
    with pytest.raises(ebb.OptionError, match="replace: prices: are required"):
        cluster.plan(replace=True)
    nothing = cluster.plan(replace=True, prices="builtin", min_saving=1)
    assert nothing.purchases.buy == () and nothing.purchases.why_none
    with pytest.raises(ebb.OptionError, match="Blockers takes none"):
        cluster.blockers(replace=True, prices="builtin")


def test_rules_are_an_option():
    cluster = ebb.Cluster.load(EXAMPLES / "replace_cluster.yaml", now=NOW)
    kept = cluster.plan(rules="karpenter").summary["keptByReason"]
    assert set(kept) == {"NodeClaimNotFound"}
    with pytest.raises(ebb.OptionError):
        cluster.plan(rules="mine")
