// StandardOutput checks every write to standard output, for all commands.
//
//   StandardOutput output;
//   int code = RunCli(argc, argv, std::cin, output.stream(), std::cerr);
//   return output.Finish(code, std::cerr);
//
// Commands print to stream() and need not check it.  After a failed write the stream is bad and
// drops everything else, and Finish reports the error.  A command that runs for long may stop when
// the stream is bad.
//
// If the reader has closed the pipe (`| head`), SIGPIPE ends the program, as usual.  Where that
// signal is ignored, the exit code is 1 and no error is printed.
//
// Threads: one at a time.

#ifndef EBB_CLI_PRINT_STANDARD_OUTPUT_H_
#define EBB_CLI_PRINT_STANDARD_OUTPUT_H_

#include <iosfwd>
#include <memory>
#include <ostream>

namespace ebb {

class StandardOutput {
 public:
  StandardOutput();
  ~StandardOutput();

  std::ostream& stream() { return stream_; }

  // Writes the rest and closes standard output.  Returns `code`.  If `code` is 0 and a write
  // failed, prints the error in one line and returns 1.
  int Finish(int code, std::ostream& err);

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

// Standard error for people, one line at a time.  No control character and no invalid UTF-8 from a
// file or a command line reaches the terminal (printable.h).  Text that was already made printable
// stays as it is.  Only a newline at the end of a write ends a line; a newline inside it is shown
// as \n.
class StandardError {
 public:
  StandardError();
  ~StandardError();  // Writes the last line if it has no end yet.

  std::ostream& stream() { return stream_; }

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

// If a descriptor 0, 1 or 2 was closed when the program started, opens it as one that cannot be
// used.  Otherwise a file that is opened later could take its place, and receive what the program
// prints.  Also makes writing a file that is too large an error instead of a signal.
void PrepareDescriptors();

}  // namespace ebb

#endif  // EBB_CLI_PRINT_STANDARD_OUTPUT_H_
