// ActuatorServer: any Actuator as a plugin, behind a Unix socket.
//
//   ActuatorServerOptions options{.path = "p.sock", .name = "simulated", .now_s = Now};
//   auto server = ActuatorServer::Start(cluster, options);
//
// It holds what the protocol asks of a plugin beyond an Actuator: a call that was carried out and
// comes again with its key is answered OK and not carried out; results have ids; a request that
// breaks a rule of its message is INVALID_ARGUMENT.  Of keys the last 10,000 are remembered.
//
// The socket is made with the process's umask; only who may write to it may call.
//
// Ownership: borrows the actuator, which must outlive it.
// Threads:   the actuator is called from threads of gRPC, one at a time; nobody else may while
//            calls come in.
// Errors:    InvalidArgument: the path is too long for a socket; Unavailable: it cannot be made.

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
  std::function<int64_t()> now_s;        // The time that calls are given.
};

class ActuatorServer {
 public:
  static absl::StatusOr<std::unique_ptr<ActuatorServer>> Start(Actuator& actuator,
                                                               ActuatorServerOptions options);
  // Waits for the calls that are under way.
  ~ActuatorServer();
  ActuatorServer(const ActuatorServer&) = delete;
  ActuatorServer& operator=(const ActuatorServer&) = delete;

  // What it says of its health; at first that it serves.
  void SetServing(bool serving);

 private:
  class Impl;
  explicit ActuatorServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_ACTUATOR_SERVER_H_
