package ebb

// #include "ebb.h"
import "C"

import (
	"context"
	"strconv"
)

// A Code is the kind of an error. The numbers are gRPC's. A Code is an error itself, so that
// errors.Is(err, ebb.NotFound) works.
type Code int

const (
	// InvalidArgument: an argument breaks a rule; the message names object and field.
	InvalidArgument Code = C.EBB_INVALID_ARGUMENT
	// DeadlineExceeded is also context.DeadlineExceeded for errors.Is.
	DeadlineExceeded Code = C.EBB_DEADLINE_EXCEEDED
	// NotFound: a node or pod does not exist.
	NotFound Code = C.EBB_NOT_FOUND
	// ResourceExhausted: a limit was exceeded, or memory is exhausted.
	ResourceExhausted Code = C.EBB_RESOURCE_EXHAUSTED
	// FailedPrecondition: the cluster allows no plan, or was closed, or it was asked for a round
	// and has no state folder.
	FailedPrecondition Code = C.EBB_FAILED_PRECONDITION
	// Aborted: another writer changed the state file in the meantime.
	Aborted Code = C.EBB_ABORTED
	// Internal: a state file cannot be written, or ebb has a bug.
	Internal Code = C.EBB_INTERNAL
)

// Error returns the code's name: "not found".
func (c Code) Error() string {
	switch c {
	case InvalidArgument:
		return "invalid argument"
	case DeadlineExceeded:
		return "deadline exceeded"
	case NotFound:
		return "not found"
	case ResourceExhausted:
		return "resource exhausted"
	case FailedPrecondition:
		return "failed precondition"
	case Aborted:
		return "aborted"
	case Internal:
		return "internal error"
	}
	return "code " + strconv.Itoa(int(c))
}

// Is makes errors.Is treat DeadlineExceeded as context.DeadlineExceeded.
func (c Code) Is(target error) bool {
	return c == DeadlineExceeded && target == context.DeadlineExceeded
}

// An Error is an error of ebb. errors.Is compares it by its Code.
type Error struct {
	Code    Code
	Message string // "Pod default/web-0: spec.containers[0]..."
}

func (e *Error) Error() string { return "ebb: " + e.Message }

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// ErrClosed is the error of calls on a Cluster or Batch that was closed or never made; the returned
// error also names the object. Its code is FailedPrecondition.
var ErrClosed error = &Error{Code: FailedPrecondition, Message: "used after Close, or never made"}

// closed is ErrClosed of an object.
type closed string

func (c closed) Error() string { return "ebb: " + string(c) + ": used after Close, or never made" }
func (c closed) Unwrap() error { return ErrClosed }

// errorOf converts the code and error of a C call, and frees the latter.
func errorOf(code C.ebb_code, failure *C.ebb_error) error {
	if code == C.EBB_OK {
		return nil
	}
	made := &Error{Code: Code(code), Message: Code(code).Error()}
	if failure != nil {
		made.Message = C.GoString(C.ebb_error_message(failure))
		C.ebb_error_free(failure)
	}
	return made
}
