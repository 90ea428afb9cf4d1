#!/usr/bin/env python3
"""Public cases: what ebb prints for small clusters whose right answer is known from elsewhere.

usage: run.py EBB [FOLDER] [NAME...]    FOLDER holds cases.json, its inputs and open.txt (default: beside this file)

open.txt lists the cases that do not pass yet, one on each line: NAME REASON.  Exits with 1 if a case that is
not listed fails, or if a listed case passes.

A case of cases.json:
  name, source, right     where the situation was reported, and the right answer with its reason
  inputs, args            ebb plan INPUTS --now NOW ARGS -o json
  go, stay                nodes that the plan must remove, and must not remove
  to_not                  nodes that no pod may be moved to
  explain                 a node: `says` is also searched for in ebb plan ... --explain NODE --counterfactual
  rounds                  times: one round each with a state file; deletes / keeps name nodes of the last round's deleteNow
  argv                    a whole command line instead ({dir} is FOLDER); only `says` and `rc` are checked
  says, says_not          regular expressions over stdout and stderr, case ignored
  rc                      the exit code (default 0)
Prints one line for each case that differs, then 'N passed, N failed'.
"""
import functools, json, os, re, subprocess, sys, tempfile

def run(argv, cwd):
    r = subprocess.run(argv, capture_output=True, text=True, cwd=cwd, timeout=120)
    return r.returncode, r.stdout, r.stderr

@functools.cache
def allow(ebb):
    """Flags that accept incomplete input, if ebb has them: small cases lack kinds and namespaces."""
    return ["--allow-incomplete"] if "allow-incomplete" in run([ebb, "help", "plan"], ".")[1] else []

def judge(ebb, folder, case):
    wrong, out, err, rc = [], "", "", 0
    now = case.get("now", "2026-11-26T12:00:00Z")
    if "argv" in case:
        rc, out, err = run([ebb] + [a.replace("{dir}", folder) for a in case["argv"]], folder)
    else:
        base = [ebb, "plan"] + [os.path.join(folder, f) for f in case["inputs"]] + case.get("args", []) + allow(ebb)
        if "rounds" in case:
            with tempfile.TemporaryDirectory() as state:
                for at in case["rounds"]:
                    rc, out, err = run(base + ["--state", state + "/s.db", "--now", at, "-o", "json"], folder)
        else:
            rc, out, err = run(base + ["--now", now, "-o", "json"], folder)
        if rc == 0:
            plan = json.loads(out)
            gone = {r["node"] for r in plan["remove"]}
            wrong += [f"{n} must go" for n in case.get("go", []) if n not in gone]
            wrong += [f"{n} must stay" for n in case.get("stay", []) if n in gone]
            landed = {p.get("to") for r in plan["remove"] for p in r.get("pods", [])}
            wrong += [f"nothing may move to {n}" for n in case.get("to_not", []) if n in landed]
            if "deletes" in case or "keeps" in case:
                due = {x["node"] if isinstance(x, dict) else x for k in ("empty", "drain") for x in (plan.get("deleteNow") or {}).get(k, [])}
                wrong += [f"{n} must be deleted now" for n in case.get("deletes", []) if n not in due]
                wrong += [f"{n} must not be deleted now" for n in case.get("keeps", []) if n in due]
        if rc == 0 and "explain" in case:
            why = run(base + ["--now", now, "--explain", case["explain"], "--counterfactual"], folder)
            rc, out, err = why[0], out + why[1], err + why[2]
    if rc != case.get("rc", 0): wrong.append(f"exit code {rc}: {err.strip()[-120:]}")
    text = out + "\n" + err
    wrong += [f"does not say /{p}/" for p in case.get("says", []) if not re.search(p, text, re.I)]
    wrong += [f"says /{p}/" for p in case.get("says_not", []) if re.search(p, text, re.I)]
    return wrong

def open_cases(path):
    if not os.path.exists(path): return set()
    return {line.split()[0] for line in open(path) if line.strip() and not line.startswith("#")}

def main():
    ebb = os.path.abspath(sys.argv[1])
    rest = sys.argv[2:]
    folder = os.path.abspath(rest.pop(0)) if rest and os.path.isdir(rest[0]) else os.path.dirname(os.path.abspath(__file__))
    cases = json.load(open(os.path.join(folder, "cases.json")))
    known = open_cases(os.path.join(folder, "open.txt"))
    passed = failed = still_open = 0
    for case in cases:
        if rest and case["name"] not in rest: continue
        wrong = judge(ebb, folder, case)
        if wrong and case["name"] in known:
            still_open += 1
            continue
        if not wrong and case["name"] in known: wrong = ["passes; take it off open.txt"]
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong: print(f"{case['name']}: {'; '.join(wrong)}   [right: {case['right']}]")
    if still_open: print(f"{still_open} listed in open.txt do not pass yet")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)

main()
