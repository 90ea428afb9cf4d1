// Package actuatorpb holds the messages and the service of wire/actuator.proto.
package actuatorpb

//go:generate protoc -I ../../../../wire --go_out=. --go_opt=paths=source_relative --go_opt=Mactuator.proto=ebb/go/kube/wire/actuatorpb --go-grpc_out=. --go-grpc_opt=paths=source_relative --go-grpc_opt=Mactuator.proto=ebb/go/kube/wire/actuatorpb actuator.proto
