#include "report/html_page.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "base/figures.h"
#include "base/text.h"
#include "report/page_files.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTextMax = 512;               // Names of Kubernetes have up to 253 bytes.
constexpr size_t kPlainMax = size_t{1} << 18;  // Larger data is compressed.

// The beginning of a text, with its length and a hash, so that different texts stay different.
std::string Shortened(std::string_view text) {
  size_t end = kTextMax / 2;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("{}... ({} bytes, {:x})", text.substr(0, end), WithCommas(text.size()),
                     HashOfText(text));
}

// Shortens every long text of `json`.  The depth of answers is bounded: they nest no input.
void ShortenTexts(Json& json) {  // NOLINT(misc-no-recursion)
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    if (text.size() > kTextMax) text = Shortened(text);
  } else if (json.is_structured()) {
    for (Json& member : json) ShortenTexts(member);
  }
}

std::string Gzip(std::string_view bytes) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  EBB_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EBB_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string WithParts(std::string_view head, std::string_view tail) {
  constexpr std::string_view kHead = "<!--HEAD-->";
  constexpr std::string_view kTail = "<!--TAIL-->";
  const size_t at = kPageHtml.find(kHead);
  const size_t end = kPageHtml.find(kTail);
  EBB_CHECK(at < end && end != std::string_view::npos);
  std::string page;
  page.reserve(kPageHtml.size() + head.size() + tail.size());
  page += kPageHtml.substr(0, at);
  page += head;
  page += kPageHtml.substr(at + kHead.size(), end - at - kHead.size());
  page += tail;
  page += kPageHtml.substr(end + kTail.size());
  return page;
}

// The element with the data.  No text in it can end the element, because it has no "<".
std::string DataElement(const std::string& json) {
  std::string element = "<script type=\"application/json\" id=\"data\">\n";
  if (json.size() > kPlainMax) {
    element = "<script type=\"application/gzip\" id=\"data\">\n";
    element += absl::Base64Escape(Gzip(json));
  } else {
    for (const char c : json) {
      if (c == '<') {
        element += "\\u003c";
      } else {
        element += c;
      }
    }
  }
  return element + "\n</script>\n";
}

}  // namespace

std::string HtmlReport(Json data) {
  ShortenTexts(data);
  const std::string head = fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<style>{}</style>",
      kPageJsHash, kPageCssHash, kPageCss);
  std::string tail = DataElement(CompactJson(data));
  tail += "<script>";
  tail += kPageJs;
  return WithParts(head, tail + "</script>");
}

std::string ServedPage() {
  return WithParts("<link rel=\"stylesheet\" href=\"/page.css\">",
                   "<script src=\"/page.js\"></script>");
}

}  // namespace ebb
