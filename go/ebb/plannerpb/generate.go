// Package plannerpb holds the messages of wire/planner.proto.
package plannerpb

//go:generate protoc -I ../../../wire --go_out=. --go_opt=paths=source_relative --go_opt=Mplanner.proto=ebb/go/ebb/plannerpb planner.proto
