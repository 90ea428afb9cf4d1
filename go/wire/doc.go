// Package wire compares how ebb reads Kubernetes' protobuf and JSON: it marshals random objects of
// the real API types both ways with client-go's serializers, and ebb must read the same object from
// both. It has only tests; see README.md.
package wire
