#include "cli/commands/top_command.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/printable.h"
#include "cli/commands/end_signals.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/display_text.h"
#include "cli/print/fail.h"
#include "cli/print/terminal.h"
#include "cli/print/top_frame.h"
#include "platform/clock.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

// A temporary folder for the dump of a live cluster, which may have secrets of the cluster.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ebb-top-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;  // Only this user may read it.
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The terminal while frames are shown: its second screen, without a cursor, each key at once.
class Screen {
 public:
  explicit Screen(std::ostream& out) : out_(out) {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      raw.c_cc[VMIN] = 0;
      raw.c_cc[VTIME] = 0;
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  ~Screen() {
    out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(const std::vector<std::string>& lines) {
    out_ << "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) {
      out_ << lines[i] << "\x1b[K" << (i + 1 < lines.size() ? "\r\n" : "");
    }
    out_ << "\x1b[J" << std::flush;
  }

  // The next key, as the terminal sends it ("q", "\x1b[A"); "" if none comes within `wait`.
  std::string Key(std::chrono::milliseconds wait) {
    pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (poll(&keys, 1, static_cast<int>(wait.count())) <= 0) return "";
    char bytes[8];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) return "q";  // The terminal is gone.
    return {bytes, static_cast<size_t>(got)};
  }

 private:
  std::ostream& out_;
  termios before_{};
  bool has_keys_ = false;
};

struct Size {
  size_t rows = 24;
  size_t columns = 80;
  friend bool operator==(const Size&, const Size&) = default;
};

Size SizeOfTerminal() {
  Size size;
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0)
    size.rows = window.ws_row;
  if (const size_t columns = OutputTerminal().columns; columns > 0) size.columns = columns;
  return size;
}

// Asks for plans and shows them.
class Top {
 public:
  Top(const TopCommand& command, const TopCommand::AskServer& ask_server, std::ostream& out,
      std::ostream& err)
      : command_(command),
        ask_server_(ask_server),
        out_(out),
        err_(err),
        plan_(command.plan),
        nodes_(command.nodes) {
    plan_.output = "json";
    if (plan_.inputs.empty() && !plan_.at_server.active()) live_.emplace();
  }

  int Run() {
    if (live_ && live_->path().empty()) {
      return Fail(absl::UnavailableError("no temporary folder can be made"), err_);
    }
    const bool loops = OutputTerminal().is_terminal && !command_.once;
    std::optional<EndSignals> signals;
    if (loops) signals.emplace();  // Before a plan starts threads.
    std::ostringstream said;
    const int code = Ask(said);
    if (code != 0 || !loops) {
      err_ << said.str();
      if (code == 0) PrintOnce();
      return code;
    }
    return Loop(*signals);
  }

 private:
  // Makes the next frame.  Returns the exit code of the plan.
  int Ask(std::ostream& said) {
    if (live_) {
      DumpCommand dump = command_.dump;
      dump.output = live_->path() + "/cluster.json";
      plan_.inputs = {dump.output};
      constexpr int kPartial = 3;
      if (const int code = dump.Run(said, said); code != 0 && code != kPartial) return code;
    }
    read_ = TimesOfInputs();
    std::ostringstream plan;
    const int code =
        plan_.at_server.active() ? ask_server_(plan_, plan, said) : plan_.Run(plan, said);
    if (code != 0) return code;
    frame_.emplace(nlohmann::ordered_json::parse(plan.str()));
    return 0;
  }

  [[nodiscard]] std::vector<std::filesystem::file_time_type> TimesOfInputs() const {
    std::vector<std::filesystem::file_time_type> times;
    std::error_code ignored;
    for (const std::string& input : plan_.inputs) {
      times.push_back(std::filesystem::last_write_time(input, ignored));
    }
    return times;
  }

  [[nodiscard]] bool IsDue(Clock::time_point asked) const {
    const auto interval = *ParseDuration(command_.interval);
    if (!live_ && !plan_.at_server.active()) return TimesOfInputs() != read_;
    return Clock::now() - asked >= interval;
  }

  void PrintOnce() {
    const Terminal terminal = OutputTerminal();
    const TopFrame::Style style{.columns = terminal.columns > 0 ? terminal.columns : 100,
                                .nodes = nodes_,
                                .colour = terminal.colour};
    for (const std::string& line : frame_->Head(style)) out_ << line << "\n";
    out_ << "\n";
    for (const std::string& line : frame_->Rows(style)) out_ << line << "\n";
    out_.flush();
  }

  void Draw(Screen& screen, const Size& size) {
    const TopFrame::Style style{
        .columns = size.columns, .nodes = nodes_, .colour = OutputTerminal().colour};
    std::vector<std::string> lines = frame_->Head(style);
    const std::vector<std::string> rows = frame_->Rows(style);
    lines.emplace_back("");
    lines.push_back(rows[0]);
    const size_t room = size.rows > lines.size() + 1 ? size.rows - lines.size() - 1 : 1;
    const size_t last = rows.size() - 1 > room ? rows.size() - 1 - room : 0;
    page_ = room;
    at_ = std::min(at_, last);
    for (size_t i = 0; i < room && at_ + i + 1 < rows.size(); ++i) {
      lines.push_back(rows[at_ + i + 1]);
    }
    while (lines.size() + 1 < size.rows) lines.emplace_back("");
    lines.resize(std::min(lines.size(), size.rows - 1));
    const std::string foot =
        problem_.empty() ? "q quit  n nodes  arrows scroll" : "not new: " + problem_;
    lines.push_back(ShortenedAtEnd(foot, size.columns));
    screen.Show(lines);
  }

  // Returns false if the key ends the command.
  bool Press(const std::string& key) {
    if (key == "q" || key == "\x03" || key == "\x04") return false;
    if (key == "n") nodes_ = !nodes_, at_ = 0;
    if (key == "j" || key == "\x1b[B") ++at_;
    if (key == "k" || key == "\x1b[A") at_ -= at_ > 0 ? 1 : 0;
    if (key == " " || key == "\x1b[6~") at_ += page_;
    if (key == "b" || key == "\x1b[5~") at_ -= std::min(at_, page_);
    return true;
  }

  int Loop(EndSignals& signals) {
    Screen screen(out_);
    Size size = SizeOfTerminal();
    Draw(screen, size);
    Clock::time_point asked = Clock::now();
    while (out_.good() && !signals.Wait(std::chrono::microseconds(0))) {
      const std::string key = screen.Key(std::chrono::milliseconds(200));
      if (!Press(key)) break;
      bool changed = !key.empty();
      if (IsDue(asked)) {
        std::ostringstream said;
        // The last frame stays if the new one cannot be made, with the reason.
        problem_ = Ask(said) == 0 ? "" : LastLine(said.str());
        asked = Clock::now();
        changed = true;
      }
      const Size now = SizeOfTerminal();
      if (changed || now != size) Draw(screen, size = now);
    }
    return 0;
  }

  static std::string LastLine(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return PrintableLine(text.substr(text.rfind('\n') + 1));
  }

  const TopCommand& command_;
  const TopCommand::AskServer& ask_server_;
  std::ostream& out_;
  std::ostream& err_;
  PlanCommand plan_;
  std::optional<TemporaryFolder> live_;  // With a kubeconfig.
  std::vector<std::filesystem::file_time_type> read_;
  std::optional<TopFrame> frame_;
  std::string problem_;  // Why the last frame could not be made; "": it could.
  bool nodes_;
  size_t at_ = 0;  // The first row that is shown.
  size_t page_ = 1;
};

}  // namespace

void TopCommand::AddTo(CLI::App& app) {
  plan.AddPlanFlags(app);
  app.final_callback([] {});  // INPUT may be absent: then the kubeconfig's cluster is shown.
  plan.at_server.AddTo(app);
  const std::string kubeconfig = "Cluster of a kubeconfig";
  app.add_option("--context", dump.context, "Of the kubeconfig, as kubectl takes it")
      ->check(values::Text())
      ->type_name("NAME")
      ->group(kubeconfig);
  app.add_option("--kubeconfig", dump.kubeconfig, "The kubeconfig, as kubectl takes it")
      ->check(values::File())
      ->type_name("FILE")
      ->group(kubeconfig);
  app.add_option("--kubectl", dump.kubectl, "The program to run")
      ->check(values::Text())
      ->type_name("PROGRAM")
      ->capture_default_str()
      ->group(kubeconfig);
  const std::string group = "Output";
  app.add_option("--interval", interval,
                 "How often a daemon is asked, or the kubeconfig's cluster fetched")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--show-nodes", nodes, "Show each node below its group, with why it goes or stays")
      ->check(values::Switch())
      ->group(group);
  app.add_flag("--once", once, "Print one frame and end, on a terminal too")
      ->check(values::Switch())
      ->group(group);
  RefuseMisfits("top", app);
  TakeLastOfEach(app);
}

int TopCommand::Run(const AskServer& ask_server, std::ostream& out, std::ostream& err) const {
  return Top(*this, ask_server, out, err).Run();
}

}  // namespace ebb
