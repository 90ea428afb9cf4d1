// Package plannergrpc holds the client and server stubs of wire/planner.proto's service, for the
// messages of plannerpb. It is a package of its own so that programs which link ebb need no gRPC.
package plannergrpc

// protoc-gen-go-grpc expects the messages in the package of the stubs; the second line imports them
// by their names.
//go:generate protoc -I ../../../../wire --go-grpc_out=. --go-grpc_opt=paths=source_relative --go-grpc_opt=Mplanner.proto=ebb/go/ebb/plannerpb/plannergrpc planner.proto
//go:generate sed -i "s|^import (|import (\\n\\t. \"ebb/go/ebb/plannerpb\"|" planner_grpc.pb.go
//go:generate gofmt -w planner_grpc.pb.go
