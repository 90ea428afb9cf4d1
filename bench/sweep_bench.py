#!/usr/bin/env python3
"""Times ebb.sweep: `sweep_bench.py DUMPS [single] [local] [ray]`.

Asks 20 thresholds of each dump that the glob DUMPS names, and prints for each way: answers, seconds, answers a second, CPU
seconds of this process and its children, and their peak memory.  `single` answers in this process, without a sweep.  Each way runs
in a process of its own.  docs/fleet.md has results.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time

NOW = 1_772_323_200  # 2026-03-01T00:00:00Z
ASKED = {"threshold": {"grid": {"scale_down_utilization_threshold": [at / 20 for at in range(1, 21)]}}}


def single(pattern: str) -> int:
    from ebb.fleet.answer import Piece, answer, version
    from ebb.fleet.clusters import sources
    from ebb.fleet.questions import questions

    asked = questions(ASKED)
    everything = tuple(range(len(asked)))
    return sum(answer([Piece(source, NOW, everything)], asked, version()).count for source in sources(pattern))


def swept(pattern: str, where: str) -> int:
    import ebb

    out = tempfile.mkdtemp()
    try:
        result = ebb.sweep(pattern, ASKED, where, out=out, now=NOW, progress=False)
        assert result.errors == 0
        print(f"  sweep alone: {result.answered / result.seconds:,.0f} answers/s", file=sys.stderr)
        return result.answered
    finally:
        shutil.rmtree(out)


def measure(way: str, pattern: str) -> None:
    if way == "ray":  # Starting Ray is not sweeping.
        import ray

        ray.init(
            address="local",
            num_cpus=len(__import__("os").sched_getaffinity(0)),
            object_store_memory=100 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
        )
    begin = time.perf_counter()
    count = single(pattern) if way == "single" else swept(pattern, way)
    seconds = time.perf_counter() - begin
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    peak = max(own.ru_maxrss, children.ru_maxrss) >> 10
    print(
        f"{way:7} {count:,} answers  {seconds:6.1f} s  {count / seconds:7,.0f}/s  CPU {cpu:6.1f} s  peak {peak} MiB",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        measure(sys.argv[2], sys.argv[3])
    else:
        for each in sys.argv[2:] or ["single", "local", "ray"]:
            subprocess.run([sys.executable, __file__, "--one", each, sys.argv[1]], check=True)
