#include "snapshot/import/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/random_seed.h"

namespace ebb::watch_stream_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr size_t kLimit = 4096;

std::string_view Name(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kAdded:
      return "ADDED";
    case WatchEvent::Type::kModified:
      return "MODIFIED";
    case WatchEvent::Type::kDeleted:
      return "DELETED";
    case WatchEvent::Type::kBookmark:
      return "BOOKMARK";
    case WatchEvent::Type::kError:
      return "ERROR";
  }
  return "";
}

// Everything that a stream returns now: "LINE TYPE OBJECT" for an event, "! CODE MESSAGE" for an
// error.
void Drain(WatchStream& stream, std::vector<std::string>& output) {
  while (true) {
    const absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
    if (!event.ok()) {
      output.push_back("! " + absl::StatusCodeToString(event.status().code()) + " " +
                       std::string(event.status().message()));
      continue;
    }
    if (!event->has_value()) return;
    output.push_back(std::to_string((*event)->line) + " " + std::string(Name((*event)->type)) +
                     " " + std::string((*event)->object));
  }
}

// Reads a text in pieces whose sizes `next_piece` returns.
template <typename NextPiece>
std::vector<std::string> EventsInPieces(std::string_view text, NextPiece&& next_piece,
                                        size_t limit = kLimit) {
  WatchStream stream(limit);
  std::vector<std::string> output;
  while (!text.empty()) {
    const size_t size = std::min(text.size(), static_cast<size_t>(next_piece()));
    // The stream must not keep references to the bytes that it received.
    std::string piece(text.substr(0, size));
    stream.Append(piece);
    std::ranges::fill(piece, '#');
    text.remove_prefix(size);
    Drain(stream, output);
  }
  stream.End();
  Drain(stream, output);
  return output;
}

std::vector<std::string> Events(std::string_view text, size_t limit = kLimit) {
  return EventsInPieces(text, [&] { return text.size(); }, limit);
}

std::vector<std::string> EventsOf(const std::vector<std::string>& output) {
  std::vector<std::string> events;
  std::ranges::copy_if(output, std::back_inserter(events),
                       [](const std::string& each) { return !each.starts_with("!"); });
  return events;
}

std::string Added(std::string_view name) {
  return R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":")" + std::string(name) +
         "\"}}}\n";
}
std::string AddedObject(std::string_view name) {
  return R"({"kind":"Pod","metadata":{"name":")" + std::string(name) + "\"}}";
}

// PowerShell writes the mark.  It may arrive in pieces.
TEST(WatchStreamTest, AByteOrderMarkIsSkipped) {
  const std::string text = "\xef\xbb\xbf" + Added("a");
  for (size_t size = 1; size <= text.size(); ++size) {
    EXPECT_THAT(EventsInPieces(text, [&] { return size; }),
                ElementsAre("1 ADDED " + AddedObject("a")))
        << size;
  }
  EXPECT_THAT(EventsOf(Events(Added("a") + "\xef\xbb\xbf" + Added("b"))),
              ElementsAre("1 ADDED " + AddedObject("a")));
  EXPECT_THAT(Events("\xef\xbb"), SizeIs(1));
}

// As kubectl prints an event.
constexpr std::string_view kPretty = R"({
    "type": "MODIFIED",
    "object": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "a": "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\""
            },
            "name": "n"
        },
        "status": {
            "conditions": [
                {
                    "type": "Ready"
                }
            ]
        }
    }
}
)";

TEST(WatchStreamTest, EventsOnALineEachAreGivenInOrderWithTheirLines) {
  EXPECT_THAT(Events("{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n"
                     "{\"type\":\"MODIFIED\",\"object\":{\"b\":{}}}\n"
                     "{\"object\":{\"c\":[]},\"type\":\"DELETED\"}\n"
                     "{\"type\":\"BOOKMARK\",\"object\":{}}\n"
                     "{ \"type\" : \"ERROR\" , \"object\" : { \"code\" : 410 } }\n"),
              ElementsAre("1 ADDED {\"a\":1}", "2 MODIFIED {\"b\":{}}", "3 DELETED {\"c\":[]}",
                          "4 BOOKMARK {}", "5 ERROR { \"code\" : 410 }"));
}

TEST(WatchStreamTest, AnEventOnManyLinesIsOneAndTheNextHasItsOwnLine) {
  const std::vector<std::string> output =
      Events(std::string(kPretty) + Added("p") + "\n\r\n" + std::string(kPretty));
  ASSERT_THAT(output, SizeIs(3));
  EXPECT_THAT(output[0], StartsWith("1 MODIFIED {\n        \"apiVersion\""));
  EXPECT_THAT(output[0], HasSubstr("\"type\": \"Ready\""));
  EXPECT_EQ(output[1], "21 ADDED " + AddedObject("p"));
  EXPECT_THAT(output[2], StartsWith("24 MODIFIED {\n"));
}

TEST(WatchStreamTest, EventsOnOneLineAreSeparated) {
  EXPECT_THAT(Events(R"({"type":"ADDED","object":{"a":1}}{"type":"ADDED","object":{"b":1}} )"
                     R"({"type":"ADDED","object":{"c":1}})"),
              ElementsAre("1 ADDED {\"a\":1}", "1 ADDED {\"b\":1}", "1 ADDED {\"c\":1}"));
}

TEST(WatchStreamTest, AnEventIsGivenAsSoonAsItIsWhole) {
  WatchStream stream(kLimit);
  std::vector<std::string> output;
  const std::string event = Added("p");
  stream.Append(std::string_view(event).substr(0, event.size() - 2));  // All but "}\n".
  Drain(stream, output);
  EXPECT_THAT(output, IsEmpty());
  stream.Append("}");
  Drain(stream, output);
  EXPECT_THAT(output, ElementsAre("1 ADDED " + AddedObject("p")));
}

TEST(WatchStreamTest, BlankLinesAreIgnored) {
  EXPECT_THAT(Events(""), IsEmpty());
  EXPECT_THAT(Events("\n \t\r\n\n"), IsEmpty());
  EXPECT_THAT(Events("\n\n" + Added("p") + "\n  \n" + Added("q") + "\n"),
              ElementsAre("3 ADDED " + AddedObject("p"), "6 ADDED " + AddedObject("q")));
}

TEST(WatchStreamTest, ObjectsListsAndArraysOutsideEventsAreReturned) {
  const std::string list = R"({"kind":"List","items":[{"type":"x"}]})";
  const std::string array = R"([{"kind":"Node"},
{"kind":"Pod"}])";
  EXPECT_THAT(Events(AddedObject("p") + "\n" + list + "\n" + array + "\n" + Added("q")),
              ElementsAre("1 ADDED " + AddedObject("p"), "2 ADDED " + list, "3 ADDED " + array,
                          "5 ADDED " + AddedObject("q")));
  // An object with a `type` of its own, such as a Secret, is not an event.
  EXPECT_THAT(Events(R"({"type":"Opaque","kind":"Secret","data":{}})"),
              ElementsAre(R"(1 ADDED {"type":"Opaque","kind":"Secret","data":{}})"));
}

TEST(WatchStreamTest, LinesThatAreNotJsonAreReportedAndSkipped) {
  EXPECT_THAT(
      Events(Added("p") + "error: the server has gone away\n" + Added("q") + "}\n,\n" + Added("r") +
             "\"a\x1b[1m\""),
      ElementsAre("1 ADDED " + AddedObject("p"),
                  AllOf(StartsWith("! INVALID_ARGUMENT line 2: "), HasSubstr("error: the server"),
                        HasSubstr("not an event of a watch")),
                  "3 ADDED " + AddedObject("q"), StartsWith("! INVALID_ARGUMENT line 4: "),
                  StartsWith("! INVALID_ARGUMENT line 5: "), "6 ADDED " + AddedObject("r"),
                  // The bytes were made printable.
                  AllOf(StartsWith("! INVALID_ARGUMENT line 7: "), Not(HasSubstr("\x1b")))));
}

TEST(WatchStreamTest, OnlyTheStartOfALongJunkLineIsShown) {
  const std::vector<std::string> output = Events(std::string(1000, 'x') + "\n" + Added("p"));
  ASSERT_THAT(output, SizeIs(2));
  EXPECT_LT(output[0].size(), 200U);
}

// However the bytes arrive, there is one error, and no line of the stream is an event.
TEST(WatchStreamTest, AStreamThatIsNotUtf8IsReportedOnce) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10), "is compressed"},
      {std::string("\xff\xfe{\x00\r\x00\n\x00", 8), "is UTF-16"},
      {std::string("\xfe\xff\x00{\x00\r\x00\n", 8), "is UTF-16"},
  };
  for (const auto& [begin, what] : cases) {
    const std::string text = begin + "\n" + Added("p") + begin + "\n" + Added("q");
    for (size_t size = 1; size <= text.size(); ++size) {
      EXPECT_THAT(EventsInPieces(text, [&] { return size; }),
                  ElementsAre(AllOf(StartsWith("! INVALID_ARGUMENT line 1: "), HasSubstr(what))))
          << size;
    }
    // Anywhere but at the start, these bytes are a line that is not an event.
    EXPECT_THAT(EventsOf(Events(Added("p") + begin + "\n" + Added("q"))),
                ElementsAre("1 ADDED " + AddedObject("p"), HasSubstr(AddedObject("q"))));
  }
}

TEST(WatchStreamTest, EventsWithoutTypeOrObjectOrWithTwoAreErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "has no `type`"},
      {R"({"object":{"kind":"Pod"}})", "has no `type`"},
      {R"({"type":"CHANGED","object":{}})", "not ADDED"},
      {R"({"type":"added","object":{}})", "not ADDED"},
      {R"({"type":7,"object":{}})", "not ADDED"},
      {R"({"type":null,"object":{}})", "not ADDED"},
      {R"({"type":"ADDED"})", "no `object`"},
      {R"({"type":"ADDED","object":null})", "no `object`"},
      {R"({"type":"ADDED","object":[]})", "no `object`"},
      {R"({"type":"ADDED","object":"{}"})", "no `object`"},
      {R"({"type":"ADDED","type":"DELETED","object":{"kind":"Pod"}})", "two members `type`"},
      {R"({"type":"ADDED","object":{"kind":"Pod"},"object":{}})", "two members `object`"},
      {R"({"type"})", "not JSON"},
      {R"({"type":})", "not JSON"},
      {R"({type:"ADDED"})", "not JSON"},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_THAT(Events(Added("p") + text + "\n" + Added("q")),
                ElementsAre("1 ADDED " + AddedObject("p"),
                            AllOf(StartsWith("! INVALID_ARGUMENT line 2: "), HasSubstr(what)),
                            "3 ADDED " + AddedObject("q")))
        << text;
  }
}

// Cuts an event after each byte; the next event begins on the following line.
TEST(WatchStreamTest, ATruncatedDocumentLosesNoLaterEvent) {
  for (const std::string& event : {Added("lost"), std::string(kPretty)}) {
    for (size_t size = 1; size + 2 < event.size(); ++size) {
      const std::string text = Added("p") + event.substr(0, size) + "\n" + Added("q") + Added("r");
      const std::vector<std::string> output = Events(text);
      const auto lines = std::ranges::count(event.substr(0, size) + "\n", '\n');
      ASSERT_THAT(EventsOf(output),
                  ElementsAre("1 ADDED " + AddedObject("p"),
                              std::to_string(lines + 2) + " ADDED " + AddedObject("q"),
                              std::to_string(lines + 3) + " ADDED " + AddedObject("r")))
          << text;
      ASSERT_THAT(output, SizeIs(4)) << text;
      ASSERT_THAT(output[1], StartsWith("! INVALID_ARGUMENT line 2: ")) << text;
    }
  }
}

TEST(WatchStreamTest, AnUnfinishedDocumentIsReportedAtTheEnd) {
  const std::string event = Added("lost");
  for (size_t size = 1; size + 2 < event.size(); ++size) {
    EXPECT_THAT(Events(Added("p") + event.substr(0, size)),
                ElementsAre("1 ADDED " + AddedObject("p"),
                            AllOf(StartsWith("! INVALID_ARGUMENT line 2: "), HasSubstr("no end"))));
  }
  EXPECT_THAT(Events("["), ElementsAre(HasSubstr("no end")));
}

TEST(WatchStreamTest, AStreamThatHasEndedGivesNothingMore) {
  WatchStream stream(kLimit);
  stream.Append(Added("p") + "{");
  stream.End();
  std::vector<std::string> output;
  Drain(stream, output);
  EXPECT_THAT(output, SizeIs(2));
  Drain(stream, output);
  EXPECT_THAT(output, SizeIs(2));
}

TEST(WatchStreamTest, ADocumentBeyondTheLimitIsReportedAndSkipped) {
  const std::string large = R"({"type":"ADDED","object":{"a":")" + std::string(2000, 'x') + "\"}}";
  EXPECT_THAT(EventsOf(Events(large + "\n", large.size())), SizeIs(1));
  const std::vector<std::string> output =
      Events(Added("p") + large + "\n" + Added("q"), large.size() - 1);
  EXPECT_THAT(output, ElementsAre("1 ADDED " + AddedObject("p"),
                                  AllOf(StartsWith("! RESOURCE_EXHAUSTED line 2: "),
                                        HasSubstr("larger than may be taken")),
                                  "3 ADDED " + AddedObject("q")));
}

// However the document continues, there is one error, long before it ends, and the events after it
// are found.
TEST(WatchStreamTest, ADocumentThatGrowsForeverIsGivenUpAtTheLimit) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[", "1,"},
      {"[", "["},
      {"[", "{\"a\":1},\n"},
      {"{", "\"a\":{"},
      {"{\"a\":\"", "x"},
      {"{\"a\":\"", "\\\""},
      {"{\"type\":\"ADDED\",\"object\":{\"a\":\"", "}]"},
      {"{\"type\":\"ADDED\",\"object\":{\"a\":[", "1,\n"},
  };
  for (const auto& [start, more] : cases) {
    WatchStream stream(kLimit);
    std::vector<std::string> output;
    stream.Append(start);
    Drain(stream, output);
    std::string piece;
    while (piece.size() < 100) piece += more;
    size_t bytes = start.size();
    size_t refused_at = 0;
    while (bytes < 100 * kLimit) {
      stream.Append(piece);
      bytes += piece.size();
      Drain(stream, output);
      if (refused_at == 0 && !output.empty()) refused_at = bytes;
    }
    ASSERT_THAT(output, SizeIs(1)) << start << more;
    EXPECT_THAT(output[0], StartsWith("! RESOURCE_EXHAUSTED line 1: "));
    EXPECT_LE(refused_at, kLimit + piece.size()) << start << more;
    stream.Append("\n" + Added("p"));
    Drain(stream, output);
    ASSERT_THAT(output, SizeIs(2)) << start << more;
    EXPECT_THAT(output[1], HasSubstr(" ADDED " + AddedObject("p"))) << start << more;
  }
}

TEST(WatchStreamTest, ADocumentThatGrowsForeverIsNotBuffered) {
  const auto heap_bytes = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
  };
  if (heap_bytes() == 0) GTEST_SKIP() << "the heap is not the C library's";
  constexpr size_t kMiB = size_t{1} << 20;
  const std::pair<std::string, char> cases[] = {
      {"[", '1'}, {"{\"a\":\"", 'x'}, {"{\"a\":", '['}, {"", 'x'}, {"", ' '}};
  for (const auto& [start, more] : cases) {
    const std::string piece(kMiB / 16, more);
    const int64_t before = heap_bytes();
    WatchStream stream(kMiB);
    std::vector<std::string> output;
    stream.Append(start);
    for (size_t bytes = 0; bytes < 100 * kMiB; bytes += piece.size()) {
      stream.Append(piece);
      Drain(stream, output);
    }
    // A growing string may have capacity for twice its size.
    EXPECT_LE(heap_bytes() - before, static_cast<int64_t>(3 * kMiB)) << start << more;
  }
}

TEST(WatchStreamTest, LinesOfTooLargeDocumentsAreCounted) {
  std::string text = "[\n";
  for (int i = 0; i < 2000; ++i) text += "1234567,\n";
  text += Added("p");
  const std::vector<std::string> output = EventsInPieces(text, [] { return 1000; });
  ASSERT_THAT(output, SizeIs(2));
  EXPECT_THAT(output[0], StartsWith("! RESOURCE_EXHAUSTED line 1: "));
  EXPECT_EQ(output[1], "2002 ADDED " + AddedObject("p"));
}

// The start of the next event may be divided at any byte.
TEST(WatchStreamTest, AnEventAfterATooLargeDocumentIsFoundWhateverThePieces) {
  const std::string large = "[" + std::string(kLimit + 100, '1');
  const std::string text = large + "\n" + Added("p");
  for (size_t cut = large.size(); cut < text.size(); ++cut) {
    bool first = true;
    const std::vector<std::string> output =
        EventsInPieces(text, [&] { return std::exchange(first, false) ? cut : text.size(); });
    EXPECT_THAT(EventsOf(output), ElementsAre("2 ADDED " + AddedObject("p")))
        << "in two pieces, the second: " << text.substr(cut);
  }
}

// As `json.dumps(event, indent=0)` prints it: a condition at the start of a line is not an event.
TEST(WatchStreamTest, AWholeDocumentIsReadWhereverItsLinesBegin) {
  const std::string event =
      "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"conditions\":[\n"
      "{\"type\":\"Ready\",\"status\":\"True\"}]}}\n";
  const std::vector<std::string> output = Events(event + Added("p"));
  ASSERT_THAT(output, SizeIs(2));
  EXPECT_THAT(output[0], StartsWith("1 ADDED {\"kind\":\"Node\""));
  EXPECT_EQ(output[1], "3 ADDED " + AddedObject("p"));
}

// Inside a line, text that looks like an event is not one.
TEST(WatchStreamTest, ATooLargeLineIsReportedOnceWhateverThePieces) {
  std::string text = R"({"type":"ADDED","object":{"conditions":[)";
  for (int i = 0; i < 400; ++i) text += R"({"type":"Ready","status":"True"},)";
  text += "{}]}}\n" + Added("p");
  test::Dice dice(test::RandomSeed());
  for (int round = 0; round < 100; ++round) {
    const int largest = 1 << dice.Below(12);
    EXPECT_THAT(
        EventsInPieces(text, [&] { return 1 + dice.Below(largest); }),
        ElementsAre(StartsWith("! RESOURCE_EXHAUSTED line 1: "), "2 ADDED " + AddedObject("p")))
        << "pieces of at most " << largest;
  }
}

TEST(WatchStreamTest, AJunkLineThatNeverEndsDelaysNothing) {
  WatchStream stream(kLimit);
  std::vector<std::string> output;
  const std::string piece(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    stream.Append(piece);
    Drain(stream, output);
  }
  EXPECT_FALSE(output.empty());
  stream.Append("\n" + Added("p"));
  Drain(stream, output);
  EXPECT_EQ(output.back(), "2 ADDED " + AddedObject("p"));
}

// A random text of valid and invalid events.
std::string RandomText(test::Dice& dice) {
  static const std::vector<std::string> kParts = {
      Added("p"),
      Added("}}"),
      Added("a\\\"b{"),
      std::string(kPretty),
      "\n",
      " \r\n",
      "junk\n",
      "E0101 12:00:00 {reflector}\n",
      "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
      "{\"type\":\"ADDED\"}\n",
      "{\"type\":\"ODD\",\"object\":{}}\n",
      "[{\"kind\":\"Pod\"}]\n",
      "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Pod\"}]}\n",
      "}\n",
      // After a document that is too large the stream looks for an event, not for a bare object.
      R"({"type":"ADDED","object":{"kind":"Pod","a":")" + std::string(6000, 'y') + "\"}}\n" +
          Added("q"),
  };
  std::string text;
  const int parts = 1 + dice.Below(12);
  for (int i = 0; i < parts; ++i) text += dice.Of(kParts);
  return text;
}

TEST(WatchStreamTest, PiecesOfAnySizeGiveWhatTheWholeGives) {
  test::Dice dice(test::RandomSeed());
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomText(dice);
    const std::vector<std::string> want = EventsOf(Events(text));
    const int largest = 1 << dice.Below(10);
    ASSERT_EQ(EventsOf(EventsInPieces(text, [&] { return 1 + dice.Below(largest); })), want)
        << text;
    if (round % 20 != 0) continue;
    ASSERT_EQ(EventsOf(EventsInPieces(text, [] { return 1; })), want) << text;
  }
}

// If no document is too large or truncated, the errors are the same too; where such a document ends
// depends on the pieces.
TEST(WatchStreamTest, PiecesOfOneByteGiveTheSameErrors) {
  const std::string text = Added("p") + "junk\n" + std::string(kPretty) +
                           "\n{\"type\":\"ADDED\"}\n" + "{}\n" + Added("q") + "{\"type\":";
  EXPECT_EQ(EventsInPieces(text, [] { return 1; }), Events(text));
}

TEST(WatchStreamTest, ATruncatedDocumentInPiecesLosesNoLaterEvent) {
  test::Dice dice(test::RandomSeed());
  const std::string events[] = {Added("lost"), std::string(kPretty), Added("}}")};
  for (const std::string& event : events) {
    for (size_t size = 1; size + 2 < event.size(); ++size) {
      const std::string text = event.substr(0, size) + "\n" + Added("}}") + Added("r");
      const int largest = 1 << dice.Below(7);
      const std::vector<std::string> output =
          EventsOf(EventsInPieces(text, [&] { return 1 + dice.Below(largest); }));
      ASSERT_THAT(output, ElementsAre(HasSubstr(" ADDED " + AddedObject("}}")),
                                      HasSubstr(" ADDED " + AddedObject("r"))))
          << text << "\nin pieces of at most " << largest;
    }
  }
}

// For any bytes, every call returns, and what it returns is part of the bytes.
TEST(WatchStreamTest, AnyBytesEndInEventsAndErrors) {
  test::Dice dice(test::RandomSeed());
  static const std::vector<std::string> kTokens = {
      "{",        "}",          "[",         "]", "\"",       "\\", ":",           ",", "\n",
      "\"type\"", "\"object\"", "\"ADDED\"", "x", "\"kind\"", " ",  "\n{\"type\"", "{}"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const int tokens = dice.Below(60);
    for (int i = 0; i < tokens; ++i) text += dice.Of(kTokens);
    const auto lines = static_cast<uint64_t>(std::ranges::count(text, '\n')) + 1;
    WatchStream stream(16);
    stream.Append(text);
    stream.End();
    for (size_t calls = 0;; ++calls) {
      ASSERT_LE(calls, text.size()) << text;
      const absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
      if (!event.ok()) continue;
      if (!event->has_value()) break;
      ASSERT_LE((*event)->line, lines);
      ASSERT_NE(text.find((*event)->object), std::string::npos);
    }
  }
}

TEST(WatchStreamTest, AnObjectOutsideAnEventIsBare) {
  for (const auto& [text, bare] : std::vector<std::pair<std::string, bool>>{
           {Added("p"), false},
           {R"({"type":"BOOKMARK","object":{"kind":"Pod"}})", false},
           {AddedObject("p"), true},
           {R"({"kind":"List","items":[]})", true},
           {"[]", true}}) {
    WatchStream stream(kLimit);
    stream.Append(text);
    const absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
    ASSERT_TRUE(event.ok() && event->has_value()) << text;
    EXPECT_EQ((*event)->bare, bare) << text;
  }
}

TEST(WatchStreamTest, ErrorsHaveTheirFullText) {
  const std::string start = "! INVALID_ARGUMENT line 1: ";
  const std::string types = " is not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR";
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {std::string(50, 'x') + "\n", std::string(40, 'x') + " is not an event of a watch"},
           {std::string(40, 'x') + "\n", std::string(40, 'x') + " is not an event of a watch"},
           {"x", "x is not an event of a watch"},
           {"{}", "neither an event of a watch nor an object: it has no `type`"},
           {R"({"type":"X","object":{}})", "type: \"X\"" + types},
           {R"({"type":"ADDED"})", "the event has no `object`"},
           {R"({"type":"ADDED","type":"ADDED","object":{}})", "the event has two members `type`"},
           {R"({"type"})", "the document that begins here is not JSON"},
           {"{\"a\":1,", "the document that begins here has no end"},
           {"\x1f\x8b", "is compressed; a watch is plain JSON, and ebb reads nothing of this one"},
           {"\xff\xfe",
            "is UTF-16, which `>` of Windows PowerShell writes; a watch is UTF-8, and ebb reads "
            "nothing of this one"}}) {
    EXPECT_THAT(Events(text), ElementsAre(start + problem)) << text;
  }
  const std::vector<std::string> output = Events("{\"a\":\n" + Added("p"));
  ASSERT_THAT(output, SizeIs(2));
  EXPECT_EQ(output[0], start + "a document is cut off: the next event begins within it");
  EXPECT_EQ(Events(Added(std::string(2000, 'p')), 1024)[0],
            "! RESOURCE_EXHAUSTED line 1: a document is larger than may be taken, 1.0 KiB");
}

TEST(WatchStreamTest, AnEventThatBeginsWithinADocumentMayHave64BlanksBetweenItsWords) {
  const auto events_after = [](size_t blanks) {
    return Events("{\"a\":\n{" + std::string(blanks, ' ') + "\"type\":\"ADDED\",\"object\":{}}\n");
  };
  EXPECT_THAT(events_after(64),
              ElementsAre("! INVALID_ARGUMENT line 1: a document is cut off: the next event begins "
                          "within it",
                          "2 ADDED {}"));
  EXPECT_THAT(events_after(65),
              ElementsAre("! INVALID_ARGUMENT line 1: the document that begins here has "
                          "no end"));
}

TEST(WatchStreamTest, AJunkLineIsBufferedUpTo4096Bytes) {
  WatchStream stream(kLimit);
  std::vector<std::string> output;
  stream.Append(std::string(4095, 'x'));
  Drain(stream, output);
  EXPECT_THAT(output, IsEmpty());
  stream.Append("x");
  Drain(stream, output);
  EXPECT_THAT(output, ElementsAre("! INVALID_ARGUMENT line 1: " + std::string(40, 'x') +
                                  " is not an event of a watch"));
  // There is no second error for the rest of the line.
  stream.Append("yyy\n" + Added("p"));
  Drain(stream, output);
  ASSERT_THAT(output, SizeIs(2));
  EXPECT_EQ(output[1], "2 ADDED " + AddedObject("p"));
}

}  // namespace
}  // namespace ebb::watch_stream_test
