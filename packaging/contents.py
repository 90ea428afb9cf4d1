#!/usr/bin/env python3
"""Says what a file of a release contains: an SPDX document, and the licences of its third-party parts.

    contents.py FILE --version V --created TIME [--map MAP] [--sysroot DIR] [--built DIR]... [--header H]...
                [--pypi DIST_INFO]... [--go PROGRAM] [--deb]
    contents.py --self-test

Writes FILE.spdx.json (SPDX 2.3) and FILE.licenses.txt beside FILE; the second only if there are such parts.

--map: the map of the program that mold or GNU ld wrote into the build folder.  Each archive in it that is
elsewhere belongs to a Debian package, to one that is unpacked in --sysroot, or to a source that ./dev built
in --built.  --header: a header whose package is compiled in.  --pypi: the dist-info folder of a Python package
that is compiled in.  --go: the modules that are in a Go program.  --deb: what the Debian package FILE depends
on.
A part whose licence is not found is an error.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from urllib.parse import quote

COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+])")
# "   0x2ec   32   4   /usr/lib/x86_64-linux-gnu/libc.a(libc-start.o):(.note)"
IN_MAP = re.compile(r"^\s*0x[0-9a-f]+\s+[1-9]\d*\s+\d+\s+(/\S+?\.a)\(\S+?\):\(|"
                    r"^\s*0x[0-9a-f]+\s+[1-9]\d*\s+\d+\s+(/\S+?\.o):\(|"
                    # "/usr/lib/x86_64-linux-gnu/libz.a(crc32.o)", at the start of GNU ld's map.
                    r"^(/\S+?\.a)\(\S+\)(?:\s|$)")


class Unknown(Exception):
    """The package or the licence of a part is not found."""


class Part:
    """Third-party code in a file, or a package that it needs."""

    def __init__(self, name, version, purl, relation, licenses):
        self.name = name
        self.version = version
        self.purl = purl
        self.relation = relation  # As SPDX names it: STATIC_LINK, CONTAINS or DEPENDS_ON.
        self.licenses = licenses  # Files with the text.


def linked_files(map_text, build=""):
    """The archives and objects outside the folder build that the linker took something from."""
    found = set()
    for line in map_text.splitlines():
        match = IN_MAP.match(line)
        if match:
            found.add(os.path.normpath(next(filter(None, match.groups()))))
    return sorted(path for path in found if not build or not path.startswith(build + "/"))


class Packages:
    """Debian's packages on this machine, in a sysroot, and sources that were built."""

    def __init__(self, sysroot, built, relation="STATIC_LINK"):
        self.sysroot = os.path.realpath(sysroot) if sysroot else None
        self.built = [os.path.realpath(folder) for folder in built]
        self.relation = relation
        self.parts = {}
        self.unpacked = {}
        if sysroot:
            for line in (pathlib.Path(sysroot) / "DEBIAN/packages").read_text().splitlines():
                name, version = line.split("\t")
                self.unpacked[name] = version

    def add(self, path):
        part = self.part_of(os.path.realpath(path))
        self.parts[part.name] = part

    def part_of(self, path):
        for folder in self.built:
            if path.startswith(folder + "/"):
                return self.built_part(path, folder)
        if self.sysroot and path.startswith(self.sysroot + "/"):
            # The package on this machine has the same files, under the name of this architecture.
            inside = path[len(self.sysroot):]
            native = inside.replace("aarch64-linux-gnu", native_triplet())
            name = owner(native)
            if name not in self.unpacked:
                raise Unknown(f"{path}: the package {name} is not in the sysroot's list")
            return self.debian(name, self.unpacked[name], "arm64", self.sysroot)
        name = owner(path)
        version, architecture = output("dpkg-query", "-W", "-f", "${Version} ${Architecture}\n", name).split("\n")[0].split(" ")
        return self.debian(name, version, architecture, "")

    def built_part(self, path, folder):
        for done in sorted(pathlib.Path(folder).glob("done-[a-z]*")):  # done-2 marks the whole.
            version, *files = done.read_text().split()
            if os.path.basename(path) in files:
                name = done.name.removeprefix("done-")
                return Part(name, version, f"pkg:deb/debian/{name}@{quote(version)}?arch=source", self.relation,
                            [f"{folder}/src/{name}/debian/copyright"])
        raise Unknown(f"{path}: no built source has this archive")

    def debian(self, name, version, architecture, root):
        return Part(name, version, f"pkg:deb/debian/{name}@{quote(version)}?arch={architecture}", self.relation,
                    [f"{root}/usr/share/doc/{name}/copyright"])


def output(*command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise Unknown(f"{' '.join(command)}: {run.stderr.strip()}")
    return run.stdout


def native_triplet():
    return output("dpkg-architecture", "-q", "DEB_HOST_MULTIARCH").strip()


def owner(path):
    """The Debian package that has the file, without its architecture."""
    return output("dpkg", "-S", path).split("\n")[0].rpartition(": ")[0].split(",")[0].split(":")[0]


def escaped(module):
    """A module's name in the folder of modules: "github.com/BurntSushi" is "github.com/!burnt!sushi"."""
    return re.sub("[A-Z]", lambda letter: "!" + letter.group(0).lower(), module)


def go_modules(text):
    """Pairs of module and version, from what `go version -m` prints; ebb's own modules are left out."""
    found, own = [], False
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "dep":
            own = words[1].startswith("ebb/")
            found += [] if own else [(words[1], words[2])]
        elif words and words[0] == "=>" and not own:  # Replaces the module before.
            raise Unknown(f"{words[1]}: replaces {found[-1][0]}")
    return found


def licenses_in(folder):
    files = sorted(file for file in pathlib.Path(folder).glob("*")
                   if re.match(r"(LICEN[CS]E|COPYING|NOTICE|PATENTS)", file.name, re.IGNORECASE) and file.is_file())
    return [str(file) for file in files]


def go_parts(program):
    text = output("go", "version", "-m", program)
    version = text.splitlines()[0].split()[-1].removeprefix("go")
    cache, root = output("go", "env", "GOMODCACHE", "GOROOT").split()
    parts = [Part("std", version, f"pkg:golang/std@{version}", "CONTAINS", [f"{root}/LICENSE"])]
    for module, of in go_modules(text):
        parts.append(Part(module, of, f"pkg:golang/{module}@{of}", "CONTAINS",
                          licenses_in(f"{cache}/{escaped(module)}@{of}")))
    return parts


def pypi_part(folder):
    """The Python package whose dist-info folder is given."""
    metadata = (pathlib.Path(folder) / "METADATA").read_text(encoding="utf-8")
    name, version = (re.search(f"^{field}: (.*)$", metadata, re.MULTILINE).group(1) for field in ("Name", "Version"))
    return Part(name, version, f"pkg:pypi/{name}@{version}", "CONTAINS",
                licenses_in(folder) + licenses_in(f"{folder}/licenses"))


def deb_parts(deb):
    parts = []
    for field in output("dpkg-deb", "-f", deb, "Depends").replace("\n", " ").split(","):
        first = field.split("|")[0].split()  # The others stand in for it.
        if first:
            parts.append(Part(first[0], " ".join(first[1:]).strip("()"), f"pkg:deb/debian/{first[0]}", "DEPENDS_ON", []))
    return parts


def spdx(file, version, created, parts):
    """The document as SPDX 2.3 describes it."""
    digest = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
    name = os.path.basename(file)
    own = {"SPDXID": "SPDXRef-Package", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
           "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION"}
    packages, relationships = [own], [
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Package"}]
    for number, part in enumerate(parts, 1):
        identifier = f"SPDXRef-Part-{number}"
        packages.append({
            "SPDXID": identifier, "name": part.name, "versionInfo": part.version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": part.purl}]})
        relationships.append({"spdxElementId": "SPDXRef-Package", "relationshipType": part.relation,
                              "relatedSpdxElement": identifier})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"https://ebb.invalid/spdx/{name}-{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: ebb-contents"]},
            "packages": packages, "relationships": relationships}


def license_texts(name, parts, common_folder="/usr/share/common-licenses"):
    """One text: the licences of all parts that are in the file, and those that Debian's texts refer to."""
    included = [part for part in parts if part.relation != "DEPENDS_ON"]
    sections, common = [], set()
    for part in included:
        if not part.licenses:
            raise Unknown(f"{part.name} {part.version}: no licence")
        for path in part.licenses:
            try:
                text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                raise Unknown(f"{part.name} {part.version}: {error}") from error
            common.update(COMMON.findall(text))
            sections.append((f"{part.name} {part.version}: {os.path.basename(path)}", text))
    for each in sorted(common):
        sections.append((f"{each}, to which texts above refer",
                         (pathlib.Path(common_folder) / each).read_text(encoding="utf-8", errors="replace")))
    head = f"{name} contains code of others.  Their licences:\n"
    return head + "".join(f"\n{'=' * 100}\n{title}\n{'=' * 100}\n{text.rstrip()}\n" for title, text in sections)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--version", required=True)
    parser.add_argument("--created", required=True)
    parser.add_argument("--map")
    parser.add_argument("--sysroot")
    parser.add_argument("--built", action="append", default=[])
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--pypi", action="append", default=[])
    parser.add_argument("--go")
    parser.add_argument("--deb", action="store_true")
    options = parser.parse_args(arguments)
    packages = Packages(options.sysroot, options.built)
    if options.map:
        for path in linked_files(pathlib.Path(options.map).read_text(encoding="utf-8"), os.path.dirname(os.path.realpath(options.map))):
            packages.add(path)
    packages.relation = "CONTAINS"
    for header in options.header:
        packages.add((options.sysroot or "") + header)
    parts = sorted(packages.parts.values(), key=lambda part: part.name)
    parts += [pypi_part(folder) for folder in options.pypi]
    if options.go:
        parts += go_parts(options.go)
    if options.deb:
        parts += deb_parts(options.file)
    document = spdx(options.file, options.version, options.created, parts)
    pathlib.Path(options.file + ".spdx.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if any(part.relation != "DEPENDS_ON" for part in parts):
        pathlib.Path(options.file + ".licenses.txt").write_text(
            license_texts(os.path.basename(options.file), parts), encoding="utf-8")
    return 0


class SelfTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="contents-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def test_archives_of_which_nothing_is_linked_are_left_out(self):
        text = ("               VMA       Size Align Out     In      Symbol\n"
                "             0x2ec         32     4         /usr/lib/rcrt1.o:(.note.ABI-tag)\n"
                "             0x2ec          0     0                 __abi_tag\n"
                "          0x476814         80     4         tools/ebb.dir/main.cc.o:(.text)\n"
                "          0x4768ac         20     1         cli/libebb_cli.a(cli.cc.o):(.text._Z1fv)\n"
                "          0x4768ac          0     1         /usr/lib/libnone.a(x.o):(.text)\n"
                "          0x4768ac         20     1         /usr/lib/gcc/../libc.a(x.o):(.text)\n")
        self.assertEqual(linked_files(text), ["/usr/lib/libc.a", "/usr/lib/rcrt1.o"])

    def test_archives_in_a_map_of_gnu_ld(self):
        text = ("Archive member included to satisfy reference by file (symbol)\n\n"
                "/usr/lib/libz.a(crc32.o)      zip.cc.o (crc32)\n"
                "/usr/lib/../libre2.a(re2.o)\n"
                "                              tools/a.o (_Z1fv)\n"
                "snapshot/libebb_snapshot.a(x.o)\n"
                "                              tools/a.o (_Z1gv)\n"
                "LOAD /usr/lib/libnone.a\n"
                " .text          0x0 0x14 /usr/lib/libz.a(crc32.o)\n")
        self.assertEqual(linked_files(text), ["/usr/lib/libz.a", "/usr/libre2.a"])
        self.assertEqual(linked_files(text, "/usr/lib"), ["/usr/libre2.a"])

    def test_an_archive_that_was_built_is_of_its_source(self):
        self.write("done-fmtlib", "9.1.0-1\nlibfmt.a\n")
        self.write("done-2", "")
        self.write("src/fmtlib/debian/copyright", "MIT")
        packages = Packages(None, [str(self.folder)])
        packages.add(self.write("lib/libfmt.a", ""))
        part = packages.parts["fmtlib"]
        self.assertEqual((part.version, part.relation), ("9.1.0-1", "STATIC_LINK"))
        with self.assertRaises(Unknown):
            packages.add(self.write("lib/libother.a", ""))

    def test_go_modules_without_our_own(self):
        text = ("ebb-kube: go1.26.8\n\tpath\tebb/go/kube/cmd/ebb-kube\n\tmod\tebb/go/kube\t(devel)\n"
                "\tdep\tebb/go/ebb\tv0.0.0\n\t=>\t../ebb\t(devel)\t\n\tdep\tgithub.com/go-logr/logr\tv1.4.3\th1:CjnDlHq8=\n")
        self.assertEqual(go_modules(text), [("github.com/go-logr/logr", "v1.4.3")])
        with self.assertRaisesRegex(Unknown, "replaces github.com/go-logr/logr"):
            go_modules(text + "\t=>\t../logr\t(devel)\t\n")
        self.assertEqual(escaped("github.com/BurntSushi/toml"), "github.com/!burnt!sushi/toml")

    def test_a_python_package_has_its_licence_in_its_folder(self):
        self.write("x.dist-info/METADATA", "Metadata-Version: 2.4\nName: x\nVersion: 1.2\n\nName: y\n")
        license_file = self.write("x.dist-info/licenses/LICENSE", "BSD")
        part = pypi_part(str(self.folder / "x.dist-info"))
        self.assertEqual((part.name, part.version, part.licenses), ("x", "1.2", [license_file]))

    def test_the_document_names_each_part_and_how_it_is_used(self):
        file = self.write("ebb", "program")
        parts = [Part("libc6-dev", "2.36-9", "pkg:deb/debian/libc6-dev@2.36-9?arch=amd64", "STATIC_LINK", []),
                 Part("libcurl4", ">= 7.88", "pkg:deb/debian/libcurl4", "DEPENDS_ON", [])]
        document = spdx(file, "0.1.0", "2026-01-02T03:04:05Z", parts)
        self.assertEqual(document["packages"][0]["checksums"][0]["checksumValue"],
                         hashlib.sha256(b"program").hexdigest())
        self.assertEqual([each["name"] for each in document["packages"]], ["ebb", "libc6-dev", "libcurl4"])
        self.assertEqual([each["relationshipType"] for each in document["relationships"]],
                         ["DESCRIBES", "STATIC_LINK", "DEPENDS_ON"])
        self.assertEqual(document, spdx(file, "0.1.0", "2026-01-02T03:04:05Z", parts))

    def test_the_licences_that_texts_refer_to_are_added_once(self):
        self.write("common/Apache-2.0", "Apache License")
        text = "See /usr/share/common-licenses/Apache-2.0.\n"
        parts = [Part("a", "1", "", "STATIC_LINK", [self.write("a/copyright", text)]),
                 Part("b", "2", "", "CONTAINS", [self.write("b/copyright", text)]),
                 Part("c", "3", "", "DEPENDS_ON", [])]
        texts = license_texts("ebb", parts, str(self.folder / "common"))
        self.assertEqual(texts.count("Apache License\n"), 1)
        self.assertIn("\na 1: copyright\n", texts)
        self.assertNotIn("\nc 3", texts)

    def test_a_part_without_a_licence_is_an_error(self):
        for licenses in ([], [str(self.folder / "none")]):
            with self.assertRaisesRegex(Unknown, "a 1"):
                license_texts("ebb", [Part("a", "1", "", "CONTAINS", licenses)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    try:
        sys.exit(main(sys.argv[1:]))
    except Unknown as error:
        sys.exit(f"contents: {error}")
