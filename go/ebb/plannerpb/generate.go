// Package plannerpb holds the messages of service/wire/planner.proto.
package plannerpb

//go:generate protoc -I ../../../service/wire --go_out=. --go_opt=paths=source_relative --go_opt=Mplanner.proto=ebb/go/ebb/plannerpb planner.proto
