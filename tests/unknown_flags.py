#!/usr/bin/env python3
"""Lists the flags of Cluster Autoscaler that ebb does not know by name.

    unknown_flags.py FLAGS_GO...     reads the autoscaler's pkg/config/flags/*.go; exit code 1 if a flag is unknown
    unknown_flags.py --self-test

ebb's flags are those of docs/flags.md, which a test keeps equal to the program's table.
"""

import pathlib
import re
import sys

DEFINITION = re.compile(r'\b\w+\.(?:[A-Z]\w*)\(\s*(?:&?[\w.\[\]]+,\s*)?"([a-z0-9][a-z0-9_-]*)",')
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


def defined(source):
    """Names of the flags that Go source defines: fs.BoolVar(&p.o.X, "name", ...), flag.String("name", ...)."""
    return {name.replace("_", "-") for name in DEFINITION.findall(source)}


def known():
    return set(ROW.findall((pathlib.Path(__file__).parent.parent / "docs/flags.md").read_text(encoding="utf-8")))


def self_test():
    source = '''
        fs.BoolVar(&p.o.A, "scale-down-enabled", true, "Text")
        fs.StringArrayVar(
            &p.taints, "ignore-taint", []string{}, "Text")
        v := fs.Int("new-flag", 1, "Text")
        fs.Lookup("scan-interval")
        klog.Warningf("--scale-down-enabled is old", 1)
    '''
    assert defined(source) == {"scale-down-enabled", "ignore-taint", "new-flag"}, defined(source)
    assert defined(source) - known() == {"new-flag"}, defined(source) - known()
    print("ok")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    found = set()
    for path in sys.argv[1:]:
        found |= defined(pathlib.Path(path).read_text(encoding="utf-8"))
    if len(found) < 20:
        print(f"unknown_flags.py: only {len(found)} flags found; are these the autoscaler's pkg/config/flags/*.go?", file=sys.stderr)
        return 2
    unknown = sorted(found - known())
    for name in unknown:
        print(name)
    print(f"{len(found)} flags, {len(unknown)} unknown", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
