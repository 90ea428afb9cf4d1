#!/usr/bin/env python3
"""The same input gives the same bytes at any number of threads.

    threads_test.py EBB [CLUSTERS [SEED]]

Makes CLUSTERS random clusters (default 1000).  Most are large enough to be read by many threads, and one in
eight has a wrong byte.  Runs `ebb plan` over each with 1, 2 and 8 threads: plan, standard error and exit
code must agree.
"""

import os
import random
import subprocess
import sys
import tempfile

THREADS = (1, 2, 8)


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def random_cluster(ebb, dice, path):
    """Writes a random cluster; returns a description for people."""
    kind = dice.choice(("company", "company", "mixed", "uniform"))
    nodes = dice.randint(1, 300)
    seed = dice.randrange(1 << 31)
    code, _, errors = run(ebb, "gen", kind, "--nodes", str(nodes), "--seed", str(seed), "-o", path)
    assert code == 0, errors.decode()
    name = f"{kind} --nodes {nodes} --seed {seed}"
    if dice.randrange(8) == 0:
        with open(path, "r+b") as file:
            place = dice.randrange(os.path.getsize(path))
            byte = dice.choice(b'{}[]",:x0\\\xff')
            file.seek(place)
            file.write(bytes([byte]))
        name += f", byte {place} = {byte}"
    return name


def main():
    ebb = sys.argv[1]
    clusters = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 31)
    print(f"threads_test: seed {seed}", flush=True)
    dice = random.Random(seed)
    large = plans = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cluster.json")
        for number in range(clusters):
            name = random_cluster(ebb, dice, path)
            order = dice.choice(("autoscaler", "input", "fewest-pods", "least-utilized"))
            command = [ebb, "plan", path, "-o", "json", "--now", "2026-06-01T12:00:00Z",
                       "--candidate-order", order]
            answers = [run(*command, "--threads", str(threads)) for threads in THREADS]
            if answers.count(answers[0]) != len(answers):
                kept = os.path.join(tempfile.gettempdir(), f"threads_test-{seed}-{number}.json")
                os.replace(path, kept)
                print(f"cluster {number} ({name}; kept as {kept}): the answers differ")
                for threads, (code, out, errors) in zip(THREADS, answers):
                    print(f"{threads} threads: exit code {code}, {len(out)} bytes, "
                          f"{errors.decode(errors='replace').strip()}")
                return 1
            code, out, errors = answers[0]
            assert code in (0, 1, 2), f"cluster {number} ({name}): exit code {code}: {errors}"
            plans += code == 0 and len(out) > 0
            refused += code != 0
            large += os.path.getsize(path) > 1 << 20
    print(f"threads_test: {clusters} clusters, {large} of more than 1 MiB: {plans} plans and "
          f"{refused} refusals are the same with {', '.join(map(str, THREADS))} threads")
    assert plans > clusters // 2, "hardly any cluster was planned for"
    return 0


if __name__ == "__main__":
    sys.exit(main())
