#include "platform/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "platform/file_identity.h"

namespace ebb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{256} << 10;

std::string Message(int error) { return std::generic_category().message(error); }

absl::Status FileError(std::string_view path, std::string_view doing, int error) {
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(path), ": ", Absl(doing), doing.empty() ? "" : ": ", Message(error)));
}

// Creates and opens a new file beside `target`.  Sets `error` if that fails.
int OpenTemporary(const fs::path& target, mode_t mode, std::string& name, int& error) {
  static std::atomic<uint64_t> number{0};
  // The name and the mark together must fit into the 255 bytes of a file name.
  const std::string start = target.filename().string().substr(0, 200);
  for (int tries = 0; tries < 1000; ++tries) {
    name = (target.parent_path() /
            fmt::format(".{}{}{}-{}", start, OutputFile::kTemporaryMark, ::getpid(), ++number))
               .string();
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    error = errno;
    if (error != EEXIST) break;
  }
  name.clear();
  return -1;
}

// Makes the rename durable.  If the folder cannot be opened or synced, that is ignored.
void SyncFolder(const fs::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool IsStandardOutput(const struct stat& file) {
  struct stat standard = {};
  return ::fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == file.st_dev &&
         standard.st_ino == file.st_ino;
}

}  // namespace

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return 0;
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  struct stat old = {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) return FileError(path, "", errno);
  if (exists && S_ISDIR(old.st_mode)) return FileError(path, "", EISDIR);
  if (exists && (!S_ISREG(old.st_mode) || IsStandardOutput(old))) {
    const int fd = IsStandardOutput(old) ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                         : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return FileError(path, "", errno);
    return OutputFile(path, fd);
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) return FileError(path, "", errno);

  const absl::StatusOr<std::string> target = FollowLinks(path);
  if (!target.ok()) return target.status();
  const mode_t mode = exists ? old.st_mode & 0777 : 0666;
  std::string temporary;
  int error = 0;
  const int fd = OpenTemporary(*target, mode, temporary, error);
  if (fd < 0) {
    return FileError(path, exists ? "no file can be made beside it to replace it" : "", error);
  }
  OutputFile file(path, fd);
  file.target_ = *target;
  file.temporary_ = std::move(temporary);
  if (exists) {
    // Another owner's file keeps its owner if we are allowed to set it. fchmod ignores the umask.
    [[maybe_unused]] const int chown_result = ::fchown(fd, old.st_uid, old.st_gid);
    if (::fchmod(fd, mode) != 0) return file.Error("", errno);
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::move(other.buffer_)),
      status_(std::move(other.status_)) {}

OutputFile::~OutputFile() { Abandon(); }

absl::Status OutputFile::Write(std::string_view bytes) {
  if (!status_.ok()) return status_;
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
}

absl::Status OutputFile::Commit() {
  if (!status_.ok()) return status_;
  if (absl::Status s = Flush(); !s.ok()) return s;
  if (temporary_.empty()) return Close();
  if (absl::Status s = Sync(); !s.ok()) return s;
  if (absl::Status s = Close(); !s.ok()) return s;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Error("cannot be replaced", errno);
  }
  temporary_.clear();
  SyncFolder(fs::path(target_).parent_path());
  return absl::OkStatus();
}

absl::Status OutputFile::Flush() {
  const int error = WriteAll(fd_, buffer_);
  buffer_.clear();
  return error == 0 ? absl::OkStatus() : Error("", error);
}

absl::Status OutputFile::Sync() {
  if (::fsync(fd_) == 0 || errno == EINVAL || errno == ENOTSUP) return absl::OkStatus();
  return Error("", errno);
}

absl::Status OutputFile::Close() {
  // close() releases the descriptor even if it returns an error.
  return ::close(std::exchange(fd_, -1)) == 0 ? absl::OkStatus() : Error("", errno);
}

absl::Status OutputFile::Error(std::string_view doing, int error) {
  status_ = FileError(path_, doing, error);
  Abandon();
  return status_;
}

void OutputFile::Abandon() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  if (absl::Status s = file->Write(bytes); !s.ok()) return s;
  return file->Commit();
}

}  // namespace ebb
