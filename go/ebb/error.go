package ebb

// #include "ebb.h"
import "C"

import (
	"context"
	"strconv"
)

// A Code tells what sort of error a call met. The numbers are gRPC's. A Code is an error too, so
// that errors.Is(err, ebb.NotFound) asks for it.
type Code int

const (
	// InvalidArgument: what was given breaks a rule; the message names object and field.
	InvalidArgument Code = C.EBB_INVALID_ARGUMENT
	// DeadlineExceeded is also context.DeadlineExceeded for errors.Is.
	DeadlineExceeded Code = C.EBB_DEADLINE_EXCEEDED
	// NotFound: there is no such node or pod.
	NotFound Code = C.EBB_NOT_FOUND
	// ResourceExhausted: a limit was met, or there is no memory left.
	ResourceExhausted Code = C.EBB_RESOURCE_EXHAUSTED
	// FailedPrecondition: the cluster allows no plan, or was closed, or rounds are asked of one
	// without a state folder.
	FailedPrecondition Code = C.EBB_FAILED_PRECONDITION
	// Aborted: the state file was changed meanwhile.
	Aborted Code = C.EBB_ABORTED
	// Internal: a state file cannot be written, or ebb has a bug.
	Internal Code = C.EBB_INTERNAL
)

// Error names the code: "not found".
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

// Is tells errors.Is that DeadlineExceeded is context.DeadlineExceeded.
func (c Code) Is(target error) bool {
	return c == DeadlineExceeded && target == context.DeadlineExceeded
}

// An Error is what ebb answers in place of a result. What errors.Is finds in it is its Code.
type Error struct {
	Code    Code
	Message string // "Pod default/web-0: spec.containers[0]..."
}

func (e *Error) Error() string { return "ebb: " + e.Message }

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// ErrClosed is what calls of a Cluster or a Batch return that was closed or never made. Its code
// is FailedPrecondition.
var ErrClosed error = &Error{Code: FailedPrecondition, Message: "used after Close, or never made"}

// errorOf makes an error of what a call returned, and frees it.
func errorOf(code C.ebb_code, told *C.ebb_error) error {
	if code == C.EBB_OK {
		return nil
	}
	made := &Error{Code: Code(code), Message: Code(code).Error()}
	if told != nil {
		made.Message = C.GoString(C.ebb_error_message(told))
		C.ebb_error_free(told)
	}
	return made
}
