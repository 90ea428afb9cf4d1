// Standard output whose every write is checked, for all commands at once.
//
//   StandardOutput output;
//   int code = RunCli(argc, argv, std::cin, output.stream(), std::cerr);
//   return output.Finish(code, std::cerr);
//
// Commands print to stream() and need not look: after a failed write the stream is
// bad, takes nothing more, and Finish tells why.  A command that runs for long or
// for ever may stop when the stream is bad.
//
// A reader that has gone away (`| head`) ends the program by SIGPIPE, as usual; where
// that signal is ignored, the exit code is 1 and nothing is said.
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

  // Writes what is left and closes standard output.  Returns `code`, or 1 if it was a
  // success and something could not be written, and then says so in one line.
  int Finish(int code, std::ostream& err);

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

// Standard error for people: a line at a time, and whatever it quotes from a file or a
// command line, no control character and nothing that is not UTF-8 reaches a terminal
// (printable.h).  Text that was made printable before is left as it is.  A line ends only
// with the end of what is written at a time: a newline within that is shown as \n.
class StandardError {
 public:
  StandardError();
  ~StandardError();  // Writes a line that has no end yet.

  std::ostream& stream() { return stream_; }

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

// Gives the descriptors 0, 1 and 2 that were closed when the program started something
// that cannot be used, so that no file that is opened later takes their place and with
// it what is printed.  Makes a file that is too large an error, not a signal.
void PrepareDescriptors();

}  // namespace ebb

#endif  // EBB_CLI_PRINT_STANDARD_OUTPUT_H_
