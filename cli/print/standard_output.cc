#include "cli/print/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>

#include "base/printable.h"
#include "platform/output_file.h"

namespace ebb {

class StandardOutput::Buffer : public std::streambuf {
 public:
  Buffer() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  int Close() {
    Flush();
    if (::close(STDOUT_FILENO) != 0 && error_ == 0) error_ = errno;
    return error_;
  }

 protected:
  int_type overflow(int_type next) override {
    if (!Flush()) return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(next);
      pbump(1);
    }
    return traits_type::not_eof(next);
  }
  int sync() override { return Flush() ? 0 : -1; }

 private:
  // On failure drops the rest, so that Finish reports the first error.
  bool Flush() {
    const std::string_view waiting(pbase(), static_cast<size_t>(pptr() - pbase()));
    if (error_ == 0) error_ = WriteAll(STDOUT_FILENO, waiting);
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return error_ == 0;
  }

  std::array<char, size_t{64} << 10> bytes_;
  int error_ = 0;
};

StandardOutput::StandardOutput() : buffer_(std::make_unique<Buffer>()), stream_(buffer_.get()) {}

StandardOutput::~StandardOutput() = default;

int StandardOutput::Finish(int code, std::ostream& err) {
  const int error = buffer_->Close();
  if (error == 0) return code;
  if (error != EPIPE) {
    PrintMessage("standard output: " + std::generic_category().message(error), err);
  }
  return code == 2 ? 2 : 1;
}

class StandardError::Buffer : public std::streambuf {
 public:
  ~Buffer() override { Flush(); }

 protected:
  int_type overflow(int_type next) override {
    if (traits_type::eq_int_type(next, traits_type::eof())) return traits_type::not_eof(next);
    const char c = traits_type::to_char_type(next);
    Put({&c, 1});
    return next;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    Put({text, static_cast<size_t>(size)});
    return size;
  }

 private:
  // A line ends only where a write ends with a newline.
  void Put(std::string_view text) {
    line_ += text;
    if (text.ends_with('\n')) Flush();
  }

  // If writing to standard error fails too, the error cannot be reported anywhere.
  void Flush() {
    const bool whole = line_.ends_with('\n');
    if (whole) line_.pop_back();
    std::string text = PrintableLine(line_);
    if (whole) text += '\n';
    WriteAll(STDERR_FILENO, text);
    line_.clear();
  }

  std::string line_;
};

StandardError::StandardError() : buffer_(std::make_unique<Buffer>()), stream_(buffer_.get()) {}

StandardError::~StandardError() = default;

void PrepareDescriptors() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number, which is `fd`.  With the wrong access mode, using it
    // fails as using a closed descriptor does.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace ebb
