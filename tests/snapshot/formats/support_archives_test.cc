// Input that people have instead of a dump: archives of support tools, whose objects have no kind,
// and forms that only look like objects.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "snapshot/formats/kind_by_path.h"
#include "snapshot/formats/read_input.h"
#include "tests/support/dump_sink.h"
#include "tests/support/gzip.h"

namespace ebb::support_archives_test {
namespace {

namespace fs = std::filesystem;
using test::Gzip;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PodText(const std::string& namespace_name, const std::string& name) {
  return absl::StrCat(R"({"metadata":{"name":")", name, R"(","namespace":")", namespace_name,
                      R"("},"spec":{"nodeName":"n","containers":[{"name":"c"}]},"status":{}})");
}
std::string NodeText(const std::string& name) {
  return absl::StrCat(R"({"metadata":{"name":")", name,
                      R"("},"spec":{},"status":{"nodeInfo":{"kubeletVersion":"v1.31.0"}}})");
}
std::string BudgetText(const std::string& name) {
  return absl::StrCat(R"({"metadata":{"name":")", name,
                      R"(","namespace":"shop"},"spec":{},"status":{"disruptionsAllowed":1}})");
}
constexpr std::string_view kKnown = R"({"kind":"Node","metadata":{"name":"known"}})";

// One entry of a ustar archive.
std::string TarEntry(const std::string& name, std::string_view bytes, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, absl::StrFormat("%011o", bytes.size()));
  header[156] = type;
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, absl::StrFormat("%06o", sum) + std::string(1, '\0'));
  std::string entry = header + std::string(bytes);
  entry.resize((entry.size() + 511) / 512 * 512, '\0');
  return entry;
}
std::string Tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string tar;
  for (const auto& [name, bytes] : files) tar += TarEntry(name, bytes);
  return tar + std::string(1024, '\0');
}

class SupportArchivesTest : public ::testing::Test {
 protected:
  SupportArchivesTest() {
    std::string name = (fs::temp_directory_path() / "ebb-archives-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~SupportArchivesTest() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name, std::string_view bytes) {
    const std::string path = Path(name);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Reads a path into objects_, as "KIND NAME" each; returns the error.
  std::string Read(const std::string& path) {
    testing::DumpSink sink;
    stats_ = {};
    std::string error(ReadInput(path, sink, stats_).message());
    objects_.clear();
    for (const std::string& line : sink.lines()) {
      const size_t name = line.find(" name=[");
      const size_t end = line.find(']', name);
      objects_.push_back(line.substr(0, line.find(' ')) + " " +
                         line.substr(name + 7, end - name - 7));
    }
    for (size_t at; (at = error.find(folder_.string())) != std::string::npos;) {
      error.replace(at, folder_.string().size(), "DIR");
    }
    return error;
  }

  fs::path folder_;
  std::vector<std::string> objects_;
  ImportStats stats_;
};

TEST_F(SupportArchivesTest, ATroubleshootBundleIsReadByItsFolders) {
  // pods.Items without kinds, as Troubleshoot wrote them until 2021.
  Put("b/cluster-resources/nodes.json", "[" + NodeText("n") + "]");
  Put("b/cluster-resources/pods/shop.json",
      "[" + PodText("shop", "web") + "," + PodText("shop", "db") + "]");
  Put("b/cluster-resources/pods/pods.json", "[" + PodText("pods", "a") + "]");
  Put("b/cluster-resources/pods/empty.json", "[]");
  Put("b/cluster-resources/pod-disruption-budgets/shop.json", "[" + BudgetText("web") + "]");
  Put("b/cluster-resources/pods-errors.json", R"({"secret":"pods is forbidden"})");
  Put("b/cluster-resources/namespaces-errors.json", R"(["no"])");
  Put("b/cluster-resources/services/shop.json",
      R"([{"metadata":{"name":"s","namespace":"shop"},"spec":{}}])");
  EXPECT_EQ(Read(Path("b")), "");
  EXPECT_THAT(objects_, ElementsAre("Node n", "PodDisruptionBudget web", "Pod a", "Pod web",
                                    "Pod db", "Service s"));
  EXPECT_EQ(stats_.files_of_named_kind, 5u);
  EXPECT_EQ(stats_.first_of_named_kind, Path("b/cluster-resources/nodes.json: Node"));
  EXPECT_EQ(stats_.files_unread + stats_.files_foreign, 0u);
}

TEST_F(SupportArchivesTest, AnInsightsArchiveIsReadByItsFolders) {
  Put("i/config/pod/openshift-etcd/etcd-0.json", PodText("openshift-etcd", "etcd-0"));
  // A namespace and a pod that are named like kinds.
  Put("i/config/pod/nodes/web.json", PodText("nodes", "web"));
  Put("i/config/pod/shop/node.json", PodText("shop", "node"));
  Put("i/config/node/w-0.json", NodeText("w-0"));
  Put("i/conditional/namespaces/mon/pods/am-0/am-0.json", PodText("mon", "am-0"));
  Put("i/config/storage/storageclasses/fast.json",
      R"({"metadata":{"name":"fast"},"provisioner":"p"})");
  Put("i/config/proxy.json", R"({"metadata":{"name":"cluster"},"spec":{},"status":{}})");
  Put("i/config/id", "x");
  EXPECT_EQ(Read(Path("i")), "");
  EXPECT_THAT(objects_, ElementsAre("Pod am-0", "Node w-0", "Pod web", "Pod etcd-0", "Pod node",
                                    "StorageClass fast"));
  EXPECT_EQ(stats_.files_foreign, 1u);
  EXPECT_THAT(stats_.first_foreign, HasSubstr("config/proxy.json: "));
  EXPECT_EQ(stats_.files_unread, 0u);
}

TEST_F(SupportArchivesTest, SonobuoysResultsAreReadByTheirNames) {
  Put("s/resources/cluster/core_v1_nodes.json",
      R"({"metadata":{},"items":[)" + NodeText("n") + "]}");
  Put("s/resources/ns/pods/core_v1_pods.json", "[" + PodText("pods", "a") + "]");
  // Another group's pods are not pods.
  Put("s/resources/ns/pods/metrics.k8s.io_v1beta1_pods.json",
      R"([{"metadata":{"name":"a","namespace":"pods"},"containers":[]}])");
  Put("s/resources/ns/shop/policy_v1_poddisruptionbudgets.json", "[" + BudgetText("web") + "]");
  Put("s/serverversion.json", R"({"major":"1","minor":"20"})");
  EXPECT_EQ(Read(Path("s")), "");
  EXPECT_THAT(objects_, ElementsAre("Node n", "Pod a", "PodDisruptionBudget web"));
  Put("old/Nodes.json", "[" + NodeText("n") + "]");
  Put("old/Pods.json", "[" + PodText("shop", "a") + "]");
  EXPECT_EQ(Read(Path("old")), "");
  EXPECT_THAT(objects_, ElementsAre("Node n", "Pod a"));
}

TEST_F(SupportArchivesTest, AFileNameThatTheObjectContradictsGivesNoKind) {
  EXPECT_THAT(
      Read(Put("nodes.json", "[" + PodText("shop", "a") + "]")),
      HasSubstr(
          "nodes.json: byte 1, line 1, column 2: is not a Kubernetes object: kind is missing"));
  EXPECT_THAT(Read(Put("pods.json", "[" + NodeText("n") + "]")), HasSubstr("kind is missing"));
  EXPECT_THAT(Read(Put("rs.json", BudgetText("b"))), HasSubstr("kind is missing"));
  EXPECT_THAT(objects_, IsEmpty());
}

TEST_F(SupportArchivesTest, TarArchivesAreReadAsFoldersAre) {
  const std::string tar =
      Tar({{"./b/cluster-resources/nodes.json", "[" + NodeText("n") + "]"},
           {"./b/cluster-resources/pods/shop.json", "[" + PodText("shop", "web") + "]"},
           {"./b/version.yaml", "a: *x\n"},
           {"./b/.hidden.json", "{"}});
  for (const std::string& bytes : {tar, Gzip(tar)}) {
    EXPECT_EQ(Read(Put("bundle.tar.gz", bytes)), "");
    EXPECT_THAT(objects_, ElementsAre("Node n", "Pod web"));
    EXPECT_THAT(stats_.first_foreign, HasSubstr("bundle.tar.gz/b/version.yaml: "));
  }
  // A folder's archive is read if the folder has nothing else: a must-gather contains archives of
  // other tools.
  Put("d/bundle.tar.gz", Gzip(tar));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(objects_, ElementsAre("Node n", "Pod web"));
  Put("d/1.json", kKnown);
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(objects_, ElementsAre("Node known"));
  EXPECT_EQ(stats_.archives_unread, 1u);
  EXPECT_EQ(stats_.first_archive, Path("d/bundle.tar.gz"));
}

TEST_F(SupportArchivesTest, NamesOfAnyLengthAreReadInTarArchives) {
  const std::string folder(150, 'f');
  const std::string name = folder + "/nodes.json";
  const std::string record = absl::StrCat(name.size() + 10, " path=", name, "\n");
  const std::string nodes = "[" + NodeText("n") + "]";
  const std::string end(1024, '\0');
  for (const std::string& tar :
       {TarEntry("PaxHeader", record, 'x') + TarEntry("short", nodes) + end,
        TarEntry("././@LongLink", name + std::string(1, '\0'), 'L') + TarEntry("short", nodes) +
            end}) {
    EXPECT_EQ(Read(Put("a.tar", tar)), "");
    EXPECT_THAT(objects_, ElementsAre("Node n"));
  }
}

TEST_F(SupportArchivesTest, ATarArchiveThatIsDamagedOrCutOffIsRefused) {
  const std::string tar = Tar({{"nodes.json", "[" + NodeText("n") + "]"}});
  EXPECT_EQ(Read(Put("a.tar", tar.substr(0, 1024))),
            "DIR/a.tar: byte 1024: the tar archive is truncated");
  EXPECT_EQ(Read(Put("a.tar", tar.substr(0, 520))),
            "DIR/a.tar: byte 0: the tar archive is truncated");
  std::string damaged = tar;
  damaged[3] ^= 1;
  EXPECT_EQ(Read(Put("a.tar", damaged)), "DIR/a.tar: byte 0: the tar archive is damaged");
}

TEST_F(SupportArchivesTest, JsonOfGosInternalTypesIsNamed) {
  const std::string pod =
      R"({"name":"a","Spec":{"NodeName":"n","Containers":[{"Name":"c"}]},"Status":{}})";
  for (const std::string& text :
       {R"({"selfLink":"/api/v1/pods","resourceVersion":"1","Items":[)" + pod + "]}", pod,
        "[" + pod + "]", std::string(R"({"TypeMeta":{},"ObjectMeta":{"Name":"a"},"Spec":{}})"),
        R"({"kind":"PodList","apiVersion":"v1","Items":[)" + pod + "]}"}) {
    EXPECT_THAT(Read(Put("pods.json", text)), HasSubstr("is JSON of Go's internal types")) << text;
    Put("d/1.json", kKnown);
    Put("d/2.json", text);
    EXPECT_EQ(Read(Path("d")), "");
    EXPECT_EQ(stats_.files_unread, 1u) << text;
    EXPECT_EQ(stats_.files_without_objects, 0u);
    EXPECT_THAT(stats_.first_unread, HasSubstr("d/2.json: "));
  }
}

TEST_F(SupportArchivesTest, InternalJsonOfAnotherKindIsNotMissed) {
  Put("d/1.json", kKnown);
  Put("d/certificatesigningrequests/a.json", R"({"TypeMeta":{},"ObjectMeta":{},"Spec":{}})");
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_unread, 0u);
  EXPECT_EQ(stats_.files_foreign, 1u);
}

TEST_F(SupportArchivesTest, TablesAreNamedWithWhatTheirRowsHold) {
  const std::string head = R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[)";
  EXPECT_THAT(Read(Put("a.json", head + R"({"cells":["web"]}]})")),
              HasSubstr("is of kind Table (rows for people), not the objects; fetch them with "
                        "`kubectl get ... -A -o json`"));
  EXPECT_THAT(Read(Put("a.json",
                       head + R"({"cells":["web"],"object":{"kind":"PartialObjectMetadata"}}]})")),
              HasSubstr("each with a PartialObjectMetadata: name and labels)"));
  EXPECT_THAT(
      Read(Put("a.json", R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",)"
                         R"("items":[{"metadata":{"name":"a"}}]})")),
      HasSubstr("is of kind PartialObjectMetadata (name and labels), not the objects"));
  Put("d/1.json", kKnown);
  Put("d/2.json", head + "]}");
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_unread, 1u);
}

TEST_F(SupportArchivesTest, ABrokenForeignFileOfAFolderIsCountedAndNamed) {
  Put("d/1.json", kKnown);
  Put("d/2.json", "{ // a comment\n}");
  Put("d/3.yaml", "a: {{ .Values.a }}\n");
  Put("d/4.json", "");
  Put("d/5.json", R"({"a":1,,"b":2})");
  Put("d/6.gz", "\x1f\x8b broken");
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(objects_, ElementsAre("Node known"));
  EXPECT_EQ(stats_.files_foreign, 5u);
  EXPECT_EQ(stats_.files_without_objects, 0u);
  EXPECT_THAT(stats_.first_foreign, HasSubstr("d/2.json: byte 2, line 1, column 3: is not JSON"));
}

TEST_F(SupportArchivesTest, ABrokenFileOfTheDumpEndsReadingOrIsMissed) {
  Put("d/1.json", kKnown);
  // The file's name says that it belongs to the dump.
  for (const char* text : {"", "{", "[{"}) {
    const std::string path = Put("d/pdb.json", text);
    EXPECT_THAT(Read(Path("d")), HasSubstr("DIR/d/pdb.json: ")) << text;
    fs::remove(path);
  }
  // Its first objects were read before the error.
  const std::string cut =
      Put("d/2.json", R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"a"}},{"kind")");
  EXPECT_THAT(Read(Path("d")), HasSubstr("is truncated"));
  fs::remove(cut);
  // It seems to contain pods.
  const std::string text = PodText("shop", "a");
  Put("d/3.json", text.substr(0, text.size() - 1));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_unread, 1u);
  EXPECT_THAT(stats_.first_unread, HasSubstr("3.json: "));
}

TEST_F(SupportArchivesTest, AFileOfPodsInAnUnknownFormIsCountedAsUnread) {
  Put("d/1.json", kKnown);
  Put("d/2.json", R"([{"nodeName":"n","containers":[{"name":"c"}]}])");  // As jsonpath .spec.
  Put("d/3.json", PodText("shop", "a"));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_unread, 2u);
  EXPECT_EQ(stats_.files_without_objects, 0u);
  EXPECT_THAT(stats_.first_unread, HasSubstr("2.json: seems to hold pods, nodes or budgets"));
}

TEST_F(SupportArchivesTest, TheErrorSaysWhatAFolderLacks) {
  Put("none/README.md", "x");
  EXPECT_EQ(Read(Path("none")),
            "DIR/none: has no file with the name of a dump (*.json, *.yaml, *.yml, *.pb, *.gz, "
            "*.tar, *.tgz)");
  Put("d/1.json", R"({"a":1})");
  EXPECT_EQ(Read(Path("d")),
            "DIR/d: none of its 1 file holds an object of Kubernetes, the first being "
            "DIR/d/1.json; pass what `kubectl get ... -A -o json` prints");
  Put("d/2.json", "{");
  EXPECT_THAT(Read(Path("d")), HasSubstr("DIR/d/2.json: byte 1"));
}

TEST_F(SupportArchivesTest, RedactedYamlIsRead) {
  const std::string yaml =
      "apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n  annotations:\n    token: ***HIDDEN***\n"
      "    url: https://***HIDDEN***:x@host\nspec:\n  list:\n  - ***HIDDEN*** and more\n";
  EXPECT_EQ(Read(Put("n.yaml", yaml)), "");
  EXPECT_THAT(objects_, ElementsAre("Node n"));
  EXPECT_THAT(Read(Put("n.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: ***HIDDEN***\n")),
              HasSubstr("metadata.name: is redacted (***HIDDEN***)"));
}

TEST_F(SupportArchivesTest, ConcatenatedYamlFilesAreReadWithoutSeparators) {
  const auto node = [](const std::string& name) {
    return "apiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n";
  };
  EXPECT_EQ(Read(Put("a.yaml", node("a") + node("b") + "---\n" + node("c") + node("d"))), "");
  EXPECT_THAT(objects_, ElementsAre("Node a", "Node b", "Node c", "Node d"));
  // With either of the two keys first, and in lists.
  const std::string list =
      "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n"
      "  metadata:\n    name: a\n";
  EXPECT_EQ(Read(Put("a.yaml", list + "kind: Node\nmetadata:\n  name: b\napiVersion: v1\n")), "");
  EXPECT_THAT(objects_, ElementsAre("Node a", "Node b"));
  // Errors have the line number in the file.
  EXPECT_THAT(Read(Put("a.yaml", node("a") + node("b") + "x: *y\n")), HasSubstr("line 9, column"));
  // Repeating only one of the two keys does not start a document.
  for (const std::string& odd : {node("a") + "kind: Node\nmetadata:\n  name: b\n",
                                 std::string("kind: Node\nkind: Node\napiVersion: v1\n")}) {
    EXPECT_THAT(Read(Put("a.yaml", odd)),
                HasSubstr("; if these are several objects, put a line `---` between them"));
  }
}

TEST(KindByNameTest, NamesOfFilesAreKindsInAnyOfTheirForms) {
  for (const auto& [name, kind] : std::vector<std::pair<const char*, const char*>>{
           {"a/pods.json", "Pod"},
           {"Pods.json.gz", "Pod"},
           {"pod-disruption-budgets.yaml", "PodDisruptionBudget"},
           {"pdb.json", "PodDisruptionBudget"},
           {"pvcs.json", "PersistentVolumeClaim"},
           {"storage-classes.json", "StorageClass"},
           {"csistoragecapacities.json", "CSIStorageCapacity"},
           {"apps_v1_replicasets.json", "ReplicaSet"},
           {"metrics.k8s.io_v1beta1_nodes.json", ""},
           {"dump.json", ""}}) {
    EXPECT_EQ(KindByName(name).kind, kind) << name;
  }
}

}  // namespace
}  // namespace ebb::support_archives_test
