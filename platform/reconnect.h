// How gRPC channels to other processes of this machine reconnect.

#ifndef EBB_PLATFORM_RECONNECT_H_
#define EBB_PLATFORM_RECONNECT_H_

namespace ebb {

// Finds a restarted process within two seconds.  A call waits for a connection as long as its own
// deadline allows.  `arguments`: grpc::ChannelArguments; a template, because that header is heavy.
template <typename ChannelArguments>
void SetReconnect(ChannelArguments& arguments) {
  arguments.SetInt("grpc.initial_reconnect_backoff_ms", 100);
  arguments.SetInt("grpc.max_reconnect_backoff_ms", 2000);
  // gRPC also uses this value as the time limit for establishing a connection.
  arguments.SetInt("grpc.min_reconnect_backoff_ms", 600'000);
}

}  // namespace ebb

#endif  // EBB_PLATFORM_RECONNECT_H_
