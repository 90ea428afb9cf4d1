// ActuatorServer: serves any Actuator as a plugin, behind a Unix socket.
//
//   ActuatorServerOptions options{.path = "p.sock", .name = "simulated", .now_s = Now};
//   auto server = ActuatorServer::Start(cluster, options);
//
// It adds what the protocol requires of a plugin beyond an Actuator:
// - The key of a call is an idempotency key: if a call with that key was carried out, a repeated
//   call returns OK and does nothing.  The server remembers the last 10,000 keys.
// - Results have ids.
// - A request that breaks a rule of its message is INVALID_ARGUMENT.
//
// The process's umask applies to the socket; only a user who may write to the socket can call.
//
// Ownership: borrows the actuator, which must outlive it.
// Threads:   gRPC threads call the actuator, one at a time; no other thread may call it while calls
//            come in.
// Errors:    InvalidArgument: the path is too long for a socket; Unavailable: the socket cannot be
//            made.

#ifndef EBB_LOOP_ACTUATORS_ACTUATOR_SERVER_H_
#define EBB_LOOP_ACTUATORS_ACTUATOR_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loop/actuator.h"

namespace ebb {

struct ActuatorServerOptions {
  std::string path = {};
  std::string name;
  std::string version = {};
  std::vector<std::string> cannot = {};  // As HelloReply.cannot: "grow".
  std::function<int64_t()> now_s;        // The time that is passed to the actuator.
};

class ActuatorServer {
 public:
  static absl::StatusOr<std::unique_ptr<ActuatorServer>> Start(Actuator& actuator,
                                                               ActuatorServerOptions options);
  // Waits for the calls in progress.
  ~ActuatorServer();
  ActuatorServer(const ActuatorServer&) = delete;
  ActuatorServer& operator=(const ActuatorServer&) = delete;

  // Sets the health that the server reports; initially it is serving.
  void SetServing(bool serving);

 private:
  class Impl;
  explicit ActuatorServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_ACTUATOR_SERVER_H_
