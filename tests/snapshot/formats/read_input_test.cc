#include "snapshot/formats/read_input.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "tests/support/dump_sink.h"
#include "tests/support/gzip.h"

namespace ebb::read_input_test {
namespace {

namespace fs = std::filesystem;
using test::Gzip;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NodeJson(std::string_view name) {
  return R"({"kind":"Node","metadata":{"name":")" + std::string(name) + "\"}}";
}

class ReadInputTest : public ::testing::Test {
 protected:
  ReadInputTest() {
    std::string name = (fs::temp_directory_path() / "ebb-read-input-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ReadInputTest() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name, std::string_view bytes) {
    const std::string path = Path(name);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Reads a path into lines_; returns the error with "DIR" in place of the folder's name.
  std::string Read(const std::string& path) {
    testing::DumpSink sink;
    stats_ = {};
    std::string error(ReadInput(path, sink, stats_).message());
    lines_ = sink.lines();
    for (size_t at; (at = error.find(folder_.string())) != std::string::npos;) {
      error.replace(at, folder_.string().size(), "DIR");
    }
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    return error;
  }

  fs::path folder_;
  std::vector<std::string> lines_;
  ImportStats stats_;
};

TEST_F(ReadInputTest, AFileIsReadByWhatItHoldsNotByItsName) {
  for (const std::string name : {"a.json", "a.txt", "a", "a.yaml", "a.gz", "a.pb"}) {
    EXPECT_EQ(Read(Put(name, NodeJson("n"))), "") << name;
    EXPECT_THAT(lines_, ElementsAre("Node name=[n]")) << name;
  }
  for (const std::string name : {"b.yaml", "b.yml", "b.txt", "b"}) {
    EXPECT_EQ(Read(Put(name, "kind: Node\nmetadata: {name: n}\n")), "") << name;
    EXPECT_THAT(lines_, ElementsAre("Node name=[n]")) << name;
  }
  EXPECT_EQ(Read(Put("flow.yaml", "{kind: Node, metadata: {name: n}}")), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
}

TEST_F(ReadInputTest, FilesThatEndWithTheirPageAreReadToTheLastByte) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (const size_t size : {page - 1, page, page + 1, 2 * page}) {
    std::string text = NodeJson("n");
    text.insert(0, size - text.size(), ' ');
    EXPECT_EQ(Read(Put("page.json", text)), "");
    EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
    EXPECT_EQ(stats_.bytes, size);
  }
}

TEST_F(ReadInputTest, GzipOfEveryFormatIsRead) {
  EXPECT_EQ(Read(Put("a.json.gz", Gzip(NodeJson("n")))), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
  EXPECT_EQ(stats_.bytes, NodeJson("n").size()) << "bytes count after decompression";
  EXPECT_EQ(Read(Put("a.yaml.gz", Gzip("kind: Node\nmetadata: {name: n}\n"))), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
  EXPECT_EQ(Read(Put("two.gz", Gzip(NodeJson("a")) + Gzip(NodeJson("b")))), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[a]", "Node name=[b]"));
  const std::string large = NodeJson("a") + std::string(5 << 20, ' ') + NodeJson("b");
  EXPECT_EQ(Read(Put("large.gz", Gzip(large))), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[a]", "Node name=[b]"));
}

TEST_F(ReadInputTest, GzipThatIsCutOffOrDamagedIsRefused) {
  const std::string whole = Gzip(NodeJson("n"));
  for (size_t size = 2; size < whole.size(); ++size) {
    ASSERT_EQ(Read(Put("cut.gz", std::string_view(whole).substr(0, size))),
              "DIR/cut.gz: its gzip data is truncated")
        << size;
  }
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 0x55;  // In the checksum.
  EXPECT_THAT(Read(Put("bad.gz", damaged)), HasSubstr("its gzip data is damaged"));
  EXPECT_EQ(Read(Put("nested.gz", Gzip(whole))), "DIR/nested.gz: is gzip within gzip");
}

TEST_F(ReadInputTest, BytesAfterAGzipMemberThatAreNotGzipOrPaddingAreRejected) {
  const std::string one = Gzip(NodeJson("a"));
  EXPECT_EQ(Read(Put("padded.gz", one + std::string(512, '\0'))), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[a]"));
  std::string damaged = Gzip(NodeJson("b"));
  damaged[0] ^= 1;
  const std::string error = absl::StrCat("DIR/odd.gz: byte ", one.size(),
                                         ": its gzip data is damaged: neither gzip nor padding");
  for (const std::string& behind : {damaged, Gzip(NodeJson("b")).substr(0, 1), NodeJson("b"),
                                    std::string(1, '\0') + Gzip(NodeJson("b"))}) {
    EXPECT_EQ(Read(Put("odd.gz", one + behind)), error) << behind.size();
  }
}

TEST_F(ReadInputTest, AFolderIsReadToTheBottomByPath) {
  Put("d/2.json", NodeJson("two"));
  Put("d/1.yaml", "kind: Node\nmetadata: {name: one}\n");
  Put("d/3.json.gz", Gzip(NodeJson("three")));
  Put("d/README.md", "not a dump");
  Put("d/deeper/4.json", NodeJson("four"));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[one]", "Node name=[two]", "Node name=[three]",
                                  "Node name=[four]"));
  EXPECT_EQ(stats_.files, 4u);
}

TEST_F(ReadInputTest, AFolderIsReadOnceEvenIfLinksLeadBackToIt) {
  const std::string file = Put("d/1.json", NodeJson("n"));
  Put("d/.hidden.json", "{");
  fs::create_symlink(file, Path("d/again.json"));
  fs::create_directory_symlink(Path("d"), Path("d/loop"));
  fs::create_symlink(Path("none"), Path("d/nowhere"));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
  EXPECT_EQ(stats_.files, 1u);
  EXPECT_EQ(stats_.files_skipped, 0u);
  fs::create_symlink(Path("none"), Path("d/gone.json"));
  EXPECT_EQ(Read(Path("d")), "DIR/d/gone.json: No such file or directory");
}

TEST_F(ReadInputTest, SpecialFilesInAFolderAreSkippedAndCounted) {
  Put("d/1.json", NodeJson("n"));
  for (const char* pipe : {"d/2.json", "d/3.json", "d/4"}) {
    ASSERT_EQ(::mkfifo(Path(pipe).c_str(), 0600), 0);
  }
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[n]"));
  EXPECT_EQ(stats_.files_skipped, 2u);
  EXPECT_EQ(stats_.first_skipped, Path("d/2.json"));
}

TEST_F(ReadInputTest, AnErrorInAFolderNamesTheFile) {
  Put("d/1.json", NodeJson("n"));
  Put("d/pods.json", "{");
  EXPECT_THAT(Read(Path("d")),
              HasSubstr("DIR/d/pods.json: byte 1, line 1, column 2: is truncated"));
}

TEST_F(ReadInputTest, AFileThatLostItsKindsIsNotSkipped) {
  Put("d/1.json", NodeJson("n"));
  Put("d/2.json", R"({"metadata":{"name":"n"},"spec":{}})");
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_foreign, 1u);
  EXPECT_THAT(stats_.first_foreign, HasSubstr("d/2.json: byte 0, line 1, column 1: is not a Kube"));
  Put("d/2.json", R"([{"a":1}])");
  Put("d/3.yaml", "replicas: 3\n---\njust words\n");
  Put("d/4.log.gz", Gzip("2026-01-01 started\n"));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_without_objects, 3u);
  EXPECT_THAT(Read(Path("d/2.json")), HasSubstr("kind is missing"));
}

TEST_F(ReadInputTest, TheContentOfGzipIsBounded) {
  const std::string bomb = Gzip(std::string(size_t{80} << 20, ' '));
  EXPECT_THAT(Read(Put("bomb.gz", bomb)), HasSubstr("hold more than 100 times as much"));
  testing::DumpSink sink;
  ImportStats stats;
  const InputLimits limits = {.bytes_max = 1000, .inflate_ratio_max = 1};
  const auto read = [&](std::string_view bytes) {
    return std::string(
        ReadBytes("memory", bytes, sink, stats, Parallelism::One(), limits).message());
  };
  EXPECT_EQ(read(NodeJson("a")), "");
  EXPECT_THAT(read(NodeJson("b") + std::string(960, ' ')), HasSubstr("larger than 1000 bytes"));
  EXPECT_THAT(read(bomb), HasSubstr("larger than 1000 bytes"));
}

TEST_F(ReadInputTest, TheContentOfGzipMayBeLargeIfItIsNotABomb) {
  std::string text = NodeJson("a");
  Random random(1);
  constexpr std::string_view kBlanks = " \n\t\r";
  // Random blanks, one in every 16 bytes, keep gzip's ratio well below a hundred.
  text.resize(size_t{65} << 20, ' ');
  for (size_t at = NodeJson("a").size(); at < text.size(); at += 16) {
    text[at] = kBlanks[random.Below(kBlanks.size())];
  }
  EXPECT_EQ(Read(Put("large.gz", Gzip(text))), "");
  EXPECT_EQ(stats_.objects, 1u);
}

TEST(ImportStatsTest, KnownCountsObjectsListsAndIgnoredObjects) {
  ImportStats stats;
  stats.objects = 5;
  stats.lists = 2;
  stats.ignored["Event"] = 3;
  stats.ignored["Secret"] = 4;
  EXPECT_EQ(stats.known(), 14u);
}

TEST_F(ReadInputTest, TheLimitIsOfAllInputsTogether) {
  const std::string node = NodeJson("a");
  testing::DumpSink sink;
  ImportStats stats;
  const auto read = [&](std::string_view bytes, uint64_t bytes_max) {
    return std::string(
        ReadBytes("memory", bytes, sink, stats, Parallelism::One(), {.bytes_max = bytes_max})
            .message());
  };
  EXPECT_THAT(read(node, node.size() - 1), HasSubstr("--max-input-bytes allows for more"));
  EXPECT_EQ(read(node, node.size()), "");
  EXPECT_THAT(read(node, 2 * node.size() - 1), HasSubstr("--max-input-bytes allows for more"));
  EXPECT_EQ(read(Gzip(node), 2 * node.size()), "");
  EXPECT_EQ(stats.bytes, 2 * node.size());
  EXPECT_EQ(stats.objects, 2u);
}

TEST_F(ReadInputTest, TextOfTwoBytesACharacterIsNamedAsSuch) {
  for (const std::string& text :
       {std::string("\xff\xfe{\0}\0", 6), std::string("\xfe\xff\0{\0}", 6),
        std::string("{\0\"\0", 4), std::string("\0{\0\"", 4)}) {
    for (const char* name : {"dump.json", "dump.yaml", "dump"}) {
      EXPECT_THAT(Read(Put(name, text)), HasSubstr("looks like UTF-16")) << name;
    }
  }
}

TEST_F(ReadInputTest, YamlIsRecognizedByItsFirstLineIfTheNameDoesNotSay) {
  for (const std::string_view text :
       {"---\nkind: Node\nmetadata: {name: n}\n",
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n", "metadata: {name: n}\nkind: Node\n",
        "# c\nkind: Node\nmetadata: {name: n}\n",
        "items:\n- kind: Node\n  metadata: {name: n}\nkind: List\n",
        "- kind: Node\n  metadata: {name: n}\n"}) {
    EXPECT_EQ(Read(Put("dump", text)), "") << text;
    EXPECT_THAT(lines_, ElementsAre("Node name=[n]")) << text;
  }
  EXPECT_EQ(Read(Put("dump", "name: n\nkind: Node\n")),
            "DIR/dump: is neither JSON nor YAML nor a snapshot of ebb's");
}

TEST_F(ReadInputTest, AMissingFileIsNotFound) {
  EXPECT_EQ(Read(Path("none.json")), "DIR/none.json: No such file or directory");
  testing::DumpSink sink;
  EXPECT_TRUE(absl::IsNotFound(ReadInput(Path("none.json"), sink, stats_)));
}

TEST_F(ReadInputTest, AFileThatIsShorterThanItsSizeIsReadToItsEnd) {
  const char* const path = "/sys/kernel/uevent_seqnum";  // Claims 4096 bytes and has a few.
  if (!fs::is_regular_file(path)) GTEST_SKIP() << "no " << path;
  testing::DumpSink sink;
  const absl::Status read = ReadInput(path, sink, stats_);
  EXPECT_TRUE(absl::IsInvalidArgument(read)) << read;
  EXPECT_EQ(read.message(),
            std::string(path) + ": is neither JSON nor YAML nor a snapshot of ebb's");
}

TEST_F(ReadInputTest, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  const char* const path = "/proc/self/mem";  // Can be opened, but its first byte cannot be read.
  testing::DumpSink sink;
  const absl::Status read = ReadInput(path, sink, stats_);
  EXPECT_EQ(read.message(), std::string(path) + ": Input/output error");
}

// Truncates a file when it receives the first node.
class Truncating final : public testing::DumpSink {
 public:
  explicit Truncating(std::string path) : path_(std::move(path)) {}
  absl::Status OnNode(const objects::Node& node) override {
    if (lines().empty()) fs::resize_file(path_, 0);
    return DumpSink::OnNode(node);
  }

 private:
  std::string path_;
};

// Symptom: ebb received SIGBUS when a dump was truncated while ebb read it.
TEST_F(ReadInputTest, AFileThatIsTruncatedAfterItWasReadIsReadWhole) {
  constexpr size_t kNodes = 20'000;  // Many pages.
  std::string list = R"({"kind":"List","apiVersion":"v1","items":[)";
  for (size_t i = 0; i < kNodes; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", NodeJson("n"));
  const std::string path = Put("nodes.json", list + "]}");
  Truncating sink(path);
  EXPECT_EQ(ReadInput(path, sink, stats_), absl::OkStatus());
  EXPECT_EQ(sink.lines().size(), kNodes);
}

TEST_F(ReadInputTest, AFileThatIsWrittenWhileItIsReadIsRefused) {
  const std::string path = Put("n.json", NodeJson("n"));
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    while (!ends) {
      fs::resize_file(path, 0);
      std::ofstream(path, std::ios::app) << NodeJson("n") << std::string(1 << 16, ' ');
    }
  });
  std::string error;
  while (error.find("was written while ebb read it") == error.npos) error = Read(path);
  ends = true;
  writer.join();
}

TEST_F(ReadInputTest, AnInputThatIsNotADumpIsRejectedInOneLine) {
  EXPECT_EQ(Read(Put("empty.json", "")), "DIR/empty.json: is empty");
  EXPECT_EQ(Read(Put("empty.yaml", "")), "DIR/empty.yaml: is empty");
  EXPECT_EQ(Read(Put("empty.gz", Gzip(""))), "DIR/empty.gz: is empty");
  EXPECT_EQ(
      Read(Put("words.json", "hello\nworld")),
      "DIR/words.json: byte 0, line 1, column 1: is not JSON: an object or array was expected");
  EXPECT_EQ(Read(Put("words.txt", "hello\nworld")),
            "DIR/words.txt: is neither JSON nor YAML nor a snapshot of ebb's");
  EXPECT_EQ(Read(Put("picture.gz", std::string("\x89PNG\r\n\x1a\n", 8))),
            "DIR/picture.gz: is neither JSON nor YAML nor a snapshot of ebb's");
  EXPECT_EQ(Read(Put("latin1.json", "{\"kind\":\"Node\",\"metadata\":{\"name\":\"caf\xe9\"}}")),
            "DIR/latin1.json: byte 38, line 1, column 39: is not UTF-8");
}

TEST_F(ReadInputTest, OutputOfKubectlThatIsNotADumpIsNamedWithAdvice) {
  struct Case {
    std::string_view text;
    std::string_view error;
  };
  const std::string node = NodeJson("a");
  const std::string warned = "Warning: v1 ComponentStatus is deprecated in v1.19+\n" + node;
  const std::string logged =
      "W0102 15:04:05.000000   12345 loader.go:222] Config not found\n" + node;
  for (const auto& [text, error] : std::vector<Case>{
           {"error: You must be logged in to the server (Unauthorized)\n",
            "holds a message instead of objects: \"error: You must be logged in to the server "
            "(Unauthorized)\"; mend that and dump again"},
           {"Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout\n",
            "holds a message instead of objects: \"Unable to connect to the server: dial tcp"},
           {"The connection to the server localhost:8080 was refused - did you specify the right "
            "host or port?\n",
            "holds a message instead of objects"},
           {"Error from server (Forbidden): pods is forbidden\n", "pods is forbidden"},
           {"No resources found in default namespace.\n", "\"No resources found in default"},
           {"bash: line 1: kubectl: command not found\n", "kubectl: command not found"},
           {"E0102 15:04:05.000000   12345 memcache.go:265] couldn't get current server API\n",
            "holds a message instead of objects"},
           {"\x1b]0;x\x07 kubectl: not found\n", "\\x1b]0;x"},
           {warned,
            "begins with a message of kubectl's before any object: \"Warning: v1 ComponentStatus "
            "is "
            "deprecated in v1.19+\"; dump again without `2>&1`"},
           {logged, "dump again without `2>&1`"},
           {"NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE\nshop  web-0  1/1  Running  0  "
            "1d\n",
            "is a table for people; dump with `kubectl get ... -A -o json`"},
           {"NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP\r\na  Ready  <none>  1d  v1.31\n",
            "is a table for people"},
           {"Name:               a\nRoles:              <none>\nLabels:             x=y\n",
            "is what `kubectl describe` prints"},
           {"node/a\nnode/b\npod/web-0\n", "is a list of names"},
           {"deployment.apps/web\n", "is a list of names"},
           {"<!DOCTYPE html>\n<html><title>Sign in</title></html>\n", "is a web page"}}) {
    // The name promises JSON, YAML or nothing; even a folder does not skip such a file.
    for (const char* name : {"dump.json", "dump.yaml", "dump"}) {
      EXPECT_THAT(Read(Put(name, text)), HasSubstr(error)) << name;
      fs::remove(Path(name));
    }
    Put("folder/a.json", node);
    Put("folder/b.yaml", text);
    EXPECT_THAT(Read(Path("folder")), HasSubstr(error));
    EXPECT_THAT(Read(Path("folder")), HasSubstr("DIR/folder/b.yaml: "));
  }
}

// Words that occur in kubectl's messages may occur in an object, even in the first line.
TEST_F(ReadInputTest, AListInOneLineIsNotAMessage) {
  const std::string words = R"("kubectl.kubernetes.io/why":"image not found")";
  const std::string node =
      R"({"kind":"Node","metadata":{"name":"n","annotations":{)" + words + "}}}";
  for (const std::string& text : {"[" + node + "]", "- " + node + "\n", node}) {
    EXPECT_EQ(Read(Put("dump.yaml", text)), "");
    EXPECT_THAT(lines_, ElementsAre(HasSubstr("Node name=[n]"))) << text;
  }
}

// kubectl prints what it may list, and then errors for what it may not.
TEST_F(ReadInputTest, AMessageOfKubectlAfterTheObjectsIsQuoted) {
  const std::string forbidden = "Error from server (Forbidden): pods is forbidden";
  const std::string error = "ends with a message of kubectl's behind the objects: \"" + forbidden +
                            "\"; mend that and dump again without `2>&1`";
  EXPECT_EQ(Read(Put("nodes.json", NodeJson("a") + "\n" + forbidden + "\n")),
            "DIR/nodes.json: " + error);
  const std::string yaml = "kind: List\nitems: []\nmetadata:\n  resourceVersion: \"\"\n";
  EXPECT_EQ(Read(Put("nodes.yaml", yaml + forbidden + "\n")), "DIR/nodes.yaml: " + error);
  EXPECT_EQ(Read(Put("good.yaml", yaml)), "");
  EXPECT_THAT(Read(Put("other.json", NodeJson("a") + "\nother words\n")), HasSubstr("is not JSON"));
}

TEST_F(ReadInputTest, TheErrorForAStatusHasItsMessageAndReason) {
  const std::string status =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"nodes is forbidden: User \"x\" cannot list resource \"nodes\"",)"
      R"("reason":"Forbidden","code":403})";
  const std::string error =
      "is an answer of the API server instead of objects (kind Status): nodes is forbidden: User "
      "\"x\" cannot list resource \"nodes\" (Forbidden); mend that and dump again";
  EXPECT_EQ(Read(Put("nodes.json", status)), "DIR/nodes.json: " + error);
  EXPECT_EQ(Read(Put("nodes.yaml", "---\n" + status)), "DIR/nodes.yaml: " + error);
  EXPECT_EQ(
      Read(Put("list.json", R"({"kind":"List","items":[)" + NodeJson("a") + "," + status + "]}")),
      "DIR/list.json: items[1] " + error);
  EXPECT_THAT(Read(Put("bare.json", R"({"apiVersion":"v1","kind":"Status","status":"Failure"})")),
              HasSubstr("(kind Status): Failure; mend"));
}

TEST_F(ReadInputTest, OutputOfClusterInfoDumpIsNamedAndItsFolderAdvised) {
  const std::string logs =
      "==== START logs for container web of pod shop/web-0 ====\n{\"level\":\"info\"}\n"
      "==== END logs for container web of pod shop/web-0 ====\n";
  const std::string lists = R"({"kind":"NodeList","apiVersion":"v1","items":[]})"
                            "\n"
                            R"({"kind":"PodList","apiVersion":"v1","items":[]})"
                            "\n";
  for (const char* name : {"dump.json", "dump.txt", "dump.yaml"}) {
    EXPECT_EQ(
        Read(Put(name, lists + logs)),
        std::string("DIR/") + name +
            ": is what `kubectl cluster-info dump` prints, with logs between the objects; pass "
            "the folder that `kubectl cluster-info dump -A --output-directory DIR` writes");
  }
}

TEST_F(ReadInputTest, APipeIsReadToItsEnd) {
  const std::string path =
      Put("big.json", NodeJson("a") + std::string(3 << 20, '\n') + NodeJson("b"));
  // "-" reads descriptor 0, so the file replaces standard input.
  const int saved = ::dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(path.c_str(), "rb", stdin), nullptr);
  const std::string error = Read("-");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  EXPECT_EQ(error, "");
  EXPECT_EQ(stats_.files, 1u);
  EXPECT_THAT(lines_, ElementsAre("Node name=[a]", "Node name=[b]"));
}

// A pipe's bytes are held only up to the limit.
TEST_F(ReadInputTest, APipeWithoutAnEndIsReadUpToTheLimit) {
  const std::string path = Path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  constexpr size_t kMuch = size_t{256} << 20;
  size_t written = 0;
  std::thread writer([&] {
    std::signal(SIGPIPE, SIG_IGN);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    std::string bytes = "[" + std::string(1 << 16, '\n');
    while (written < kMuch) {
      const ssize_t sent = ::write(fd, bytes.data(), bytes.size());
      if (sent <= 0) break;
      written += static_cast<size_t>(sent);
      bytes[0] = '\n';
    }
    ::close(fd);
  });
  testing::DumpSink sink;
  const std::string error(
      ReadInput(path, sink, stats_, Parallelism::One(), {.bytes_max = 1000}).message());
  writer.join();
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_THAT(error, HasSubstr("--max-input-bytes"));
  EXPECT_LT(written, kMuch);
}

TEST_F(ReadInputTest, BytesInMemoryAreReadLikeAFile) {
  testing::DumpSink sink;
  const std::string gzip = Gzip(NodeJson("n"));
  EXPECT_TRUE(ReadBytes("memory", NodeJson("m"), sink, stats_).ok());
  EXPECT_TRUE(ReadBytes("memory", gzip, sink, stats_).ok());
  EXPECT_THAT(sink.lines(), ElementsAre("Node name=[m]", "Node name=[n]"));
}

TEST(IsDumpNameTest, TheEndOfAFileNameDecidesWhetherItIsADump) {
  for (const char* name :
       {"a.json", "a.yaml", "a.yml", "a.gz", "a.pb", "a.tar", "a.tgz", ".json"}) {
    EXPECT_TRUE(IsDumpName(name)) << name;
  }
  for (const char* name : {"json", "a.jsonl", "a.txt", "a.json.bak", "", "yaml"}) {
    EXPECT_FALSE(IsDumpName(name)) << name;
  }
}

TEST_F(ReadInputTest, EveryNameOfADumpIsReadInAFolder) {
  Put("d/1.json", NodeJson("a"));
  Put("d/2.yaml", "kind: Node\nmetadata: {name: b}\n");
  Put("d/3.yml", "{kind: Node, metadata: {name: c}}\n");
  Put("d/4.gz", Gzip(NodeJson("d")));
  Put("d/5.pb", NodeJson("e"));
  Put("d/6.yaml.gz", Gzip("{kind: Node, metadata: {name: f}}\n"));
  Put("d/7.txt", NodeJson("g"));
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_THAT(lines_, ElementsAre("Node name=[a]", "Node name=[b]", "Node name=[c]",
                                  "Node name=[d]", "Node name=[e]", "Node name=[f]"));
  EXPECT_EQ(stats_.files, 6u);
  EXPECT_EQ(stats_.objects, 6u);
}

TEST_F(ReadInputTest, TheFirstOfSeveralFilesWithoutObjectsIsNamed) {
  Put("d/1.json", R"({"a":1})");
  Put("d/2.json", NodeJson("n"));
  Put("d/3.json", R"([1])");
  EXPECT_EQ(Read(Path("d")), "");
  EXPECT_EQ(stats_.files_without_objects, 2u);
  EXPECT_EQ(stats_.first_without_objects, Path("d/1.json"));
  EXPECT_EQ(stats_.strangers, 2u);
  fs::remove(Path("d/2.json"));
  EXPECT_THAT(Read(Path("d")), HasSubstr("none of its 2 files holds an object of Kubernetes"));
}

TEST_F(ReadInputTest, EachStartOfYamlIsRecognizedWithoutAName) {
  for (const char* text :
       {"%YAML 1.2\n---\nkind: Node\nmetadata: {name: n}\n", "kind: Node\nmetadata: {name: n}\n",
        "\xef\xbb\xbfkind: Node\nmetadata: {name: n}\n"}) {
    EXPECT_EQ(Read(Put("dump", text)), "") << text;
    EXPECT_THAT(lines_, ElementsAre("Node name=[n]")) << text;
  }
  // A file named as JSON is not read as YAML.
  EXPECT_EQ(
      Read(Put("dump.json", "kind: Node\nmetadata: {name: n}\n")),
      "DIR/dump.json: byte 0, line 1, column 1: is not JSON: an object or array was expected");
  for (const char* text : {"{}", "[]", "[{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}]"}) {
    EXPECT_EQ(Read(Put("x.yaml", text)).find("not YAML"), std::string::npos) << text;
  }
}

TEST_F(ReadInputTest, EachMessageOfKubectlsOrOfAShellsIsKnown) {
  const auto holds = [](const std::string& line) {
    return "DIR/dump: holds a message instead of objects: \"" + line +
           "\"; mend that and dump again";
  };
  for (const char* line :
       {"error: no", "Error: no", "Error from server (NotFound): no",
        "Unable to connect to the server: EOF", "The connection to the server was refused",
        "No resources found", "Unauthorized", "Forbidden: no", "sh: 1: kubectl: not found",
        "bash: kubectl: command not found", "zsh: command not found: kubectl",
        "E0102 15:04:05.000000   12345 memcache.go:265] no",
        "F0102 15:04:05.000000   12345 memcache.go:265] no"}) {
    EXPECT_EQ(Read(Put("dump", std::string(line) + "\n")), holds(line));
    EXPECT_EQ(Read(Put("dump", "\n " + std::string(line) + " \r\nmore\n")), holds(line));
  }
  for (const char* line : {"Warning: old", "W0102 15:04:05.000000   12345 loader.go:222] no",
                           "I0102 15:04:05.000000   12345 loader.go:222] no"}) {
    EXPECT_EQ(Read(Put("dump", std::string(line) + "\n" + NodeJson("a"))),
              "DIR/dump: begins with a message of kubectl's before any object: \"" +
                  std::string(line) + "\"; dump again without `2>&1`");
    EXPECT_EQ(Read(Put("dump", NodeJson("a") + "\n" + line + "\n")),
              "DIR/dump: ends with a message of kubectl's behind the objects: \"" +
                  std::string(line) + "\"; mend that and dump again without `2>&1`");
  }
  // The message quotes at most 200 bytes of it.
  const std::string words(300, 'x');
  EXPECT_EQ(Read(Put("dump", "error: " + words + "\n")), holds("error: " + words.substr(107)));
}

TEST_F(ReadInputTest, TextsThatOnlyResembleAMessageAreOfUnknownFormat) {
  for (const char* line : {"errors: no", "X0102 15:04:05.000000   12345 memcache.go:265] no",
                           "E0102x15:04:05.000000   12345 memcache.go:265] no",
                           "E0102 15.04:05.000000   12345 memcache.go:265] no",
                           "E01a2 15:04:05.000000   12345 memcache.go:265] no",
                           "E0102 15:04:05.000000   12345 memcache.go:265 no", "E0102 15:04] no",
                           "NAME ready", "NAMES", "LAST SEEN: x", "Name:  a", "Name: a", "pod/",
                           "/web", "Pod/web-0", "pod/web 0", "pod", "<body>"}) {
    EXPECT_EQ(Read(Put("dump", std::string(line) + "\n")),
              "DIR/dump: is neither JSON nor YAML nor a snapshot of ebb's")
        << line;
  }
}

TEST_F(ReadInputTest, EachPrintForPeopleIsKnown) {
  const std::string as_json = "; dump with `kubectl get ... -A -o json`";
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"NAME   READY\na  1/1\n", "is a table for people"},
           {"NAMESPACE   NAME\nb  a\n", "is a table for people"},
           {"LAST SEEN   TYPE   REASON\n1m  Normal  x\n", "is a table for people"},
           {"Name:  a\nLabels:  b\n", "is what `kubectl describe` prints"},
           {"pod/web-0\n", "is a list of names"},
           {"p/w\n", "is a list of names"},
           {"deployment.apps/web-1.x\n", "is a list of names"},
           {"<!DOCTYPE html>\n", "is a web page, such as the login of a proxy"},
           {"<!doctype html>\n", "is a web page, such as the login of a proxy"},
           {"<html>\n", "is a web page, such as the login of a proxy"},
           {"<HTML>\n", "is a web page, such as the login of a proxy"}}) {
    EXPECT_EQ(Read(Put("dump", text)), "DIR/dump: " + what + as_json) << text;
  }
}

TEST_F(ReadInputTest, TwoBytesACharacterNeedFourBytesToShow) {
  EXPECT_THAT(Read(Put("dump", std::string("{\0}", 3))), ::testing::Not(HasSubstr("UTF-16")));
  EXPECT_THAT(Read(Put("dump", std::string("\0\0\0\0", 4))), ::testing::Not(HasSubstr("UTF-16")));
  EXPECT_EQ(Read(Put("dump", std::string("{\0}\0", 4))),
            "DIR/dump: looks like UTF-16, which `>` of Windows PowerShell writes; write the dump "
            "with `| Out-File -Encoding utf8`, or from cmd");
}

TEST_F(ReadInputTest, TheErrorForALargeInputNamesTheLimitAndTheFlag) {
  testing::DumpSink sink;
  ImportStats stats;
  const auto read = [&](std::string_view bytes, const InputLimits& limits) {
    return std::string(
        ReadBytes("memory", bytes, sink, stats, Parallelism::One(), limits).message());
  };
  const std::string text = NodeJson("a");
  EXPECT_EQ(read(text, {.bytes_max = 10}),
            "memory: the input is larger than 10 bytes; --max-input-bytes allows for more");
  EXPECT_EQ(read(Gzip(text), {.bytes_max = 10}),
            "memory: the input is larger than 10 bytes; --max-input-bytes allows for more");
  EXPECT_EQ(stats.bytes, 0u);
}

TEST_F(ReadInputTest, AFileThatCannotBeOpenedIsNotReportedAsMissing) {
  const std::string path = Put("a.json", NodeJson("a")) + "/b.json";
  EXPECT_EQ(Read(path), "DIR/a.json/b.json: Not a directory");
  testing::DumpSink sink;
  EXPECT_TRUE(absl::IsInvalidArgument(ReadInput(path, sink, stats_)));
}

TEST_F(ReadInputTest, ALineOfALogHas21BytesAtLeast) {
  const std::string line = "E0102 15:04:05.0 x] y";
  ASSERT_EQ(line.size(), 21u);
  EXPECT_EQ(Read(Put("dump", line + "\n")), "DIR/dump: holds a message instead of objects: \"" +
                                                line + "\"; mend that and dump again");
  EXPECT_EQ(Read(Put("dump", "E0102 15:04:05. x] y\n")),
            "DIR/dump: is neither JSON nor YAML nor a snapshot of ebb's");
}

TEST_F(ReadInputTest, AMessageAfterTheObjectsIsQuotedUpTo200Bytes) {
  EXPECT_EQ(
      Read(Put("nodes.json", NodeJson("a") + "\nerror: " + std::string(300, 'x') + "\r\n \t\n")),
      "DIR/nodes.json: ends with a message of kubectl's behind the objects: \"error: " +
          std::string(193, 'x') + "\"; mend that and dump again without `2>&1`");
}

TEST_F(ReadInputTest, AnObjectMayHoldWhatBeginsTheLogsOfAContainer) {
  EXPECT_EQ(Read(Put("dump.yaml",
                     "kind: Namespace\nmetadata:\n  name: n\n  annotations:\n"
                     "    a: \"==== START logs for container web\"\n")),
            "");
  EXPECT_THAT(lines_, ElementsAre("Namespace name=[n] annotation=[a]:[==== START logs for "
                                  "container web]"));
}

}  // namespace
}  // namespace ebb::read_input_test
