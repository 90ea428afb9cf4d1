// Package externalgrpcpb holds the messages and the service of externalgrpc.proto.
package externalgrpcpb

//go:generate protoc -I .. --go_out=. --go_opt=paths=source_relative --go_opt=Mexternalgrpc.proto=ebb/go/kube/provider/externalgrpc/externalgrpcpb --go-grpc_out=. --go-grpc_opt=paths=source_relative --go-grpc_opt=Mexternalgrpc.proto=ebb/go/kube/provider/externalgrpc/externalgrpcpb externalgrpc.proto
