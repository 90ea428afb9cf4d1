// How gRPC's channels to other processes of this machine connect again.

#ifndef EBB_PLATFORM_RECONNECT_H_
#define EBB_PLATFORM_RECONNECT_H_

namespace ebb {

// A process that is started again is found within two seconds.  A call waits for a connection as
// long as its own deadline allows.  `arguments`: grpc::ChannelArguments, whose header is heavy.
template <typename ChannelArguments>
void SetReconnect(ChannelArguments& arguments) {
  arguments.SetInt("grpc.initial_reconnect_backoff_ms", 100);
  arguments.SetInt("grpc.max_reconnect_backoff_ms", 2000);
  // To gRPC it is also how long a connection may take to be made.
  arguments.SetInt("grpc.min_reconnect_backoff_ms", 600'000);
}

}  // namespace ebb

#endif  // EBB_PLATFORM_RECONNECT_H_
