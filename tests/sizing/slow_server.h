// SlowServer sends fixed bytes, piece by piece, to every client that connects.
//
//   const SlowServer server("HTTP/1.1 200 OK\r\n\r\n", " ", kTrickle);
//
// It ends by itself, so that a client that waits for the end fails its test instead of hanging.

#ifndef EBB_TESTS_SIZING_SLOW_SERVER_H_
#define EBB_TESTS_SIZING_SLOW_SERVER_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace ebb {

// `pieces` pieces, one every `every_ms` milliseconds.
struct Pace {
  int every_ms;
  int pieces;
};
inline constexpr Pace kTrickle{.every_ms = 50, .pieces = 400};
inline constexpr Pace kFlood{.every_ms = 0, .pieces = 400};

class SlowServer {
 public:
  SlowServer(std::string head, std::string piece, Pace pace)
      : head_(std::move(head)), piece_(std::move(piece)), pace_(pace) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~SlowServer() {
    over_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  SlowServer(const SlowServer&) = delete;
  SlowServer& operator=(const SlowServer&) = delete;

  [[nodiscard]] std::string Url(const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(port_);
  }
  // Pieces that clients received, over all connections.
  [[nodiscard]] int pieces() const { return pieces_; }

 private:
  void Serve() {
    for (int peer = 0; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
      char request[4096];
      if (recv(peer, request, sizeof(request), 0) <= 0 || !Write(peer, head_)) continue;
      for (int i = 0; i < pace_.pieces && !over_ && Write(peer, piece_); ++i) {
        ++pieces_;
        std::this_thread::sleep_for(std::chrono::milliseconds(pace_.every_ms));
      }
    }
  }
  static bool Write(int peer, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t sent = send(peer, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  const std::string head_;
  const std::string piece_;
  const Pace pace_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<int> pieces_ = 0;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_TESTS_SIZING_SLOW_SERVER_H_
