// Package wire holds ebb's reading of Kubernetes' protobuf to its reading of JSON: random objects
// of the real API types, marshalled both ways by client-go's serializers, must be one object to
// ebb. It has tests only; see README.md.
package wire
