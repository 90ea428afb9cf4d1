// Progress shows on a terminal what the program is doing, if it takes longer than a second: one
// line, rewritten in place and erased at the end.
//
// Threads: has one of its own, which writes to stderr; Say() may be called from any thread.

#ifndef EBB_CLI_PRINT_PROGRESS_H_
#define EBB_CLI_PRINT_PROGRESS_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ebb {

class Progress {
 public:
  // Does nothing unless stderr is a terminal.
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the text to show from now on: "reading pods.json".
  void Say(std::string what);
  // Erases the line and stops.  The destructor calls it too.
  void Done();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_CLI_PRINT_PROGRESS_H_
