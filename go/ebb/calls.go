package ebb

// #include "ebb.h"
// #cgo noescape ebb_cluster_call
// #cgo nocallback ebb_cluster_call
import "C"

import (
	"context"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"ebb/go/ebb/plannerpb"
)

// A Method names a call that takes a message and is answered with another one.
type Method int

// The methods of [Cluster.Call], with their messages.
const (
	MethodPlan            Method = C.EBB_CALL_PLAN             // PlanCall -> PlanReply
	MethodExplain         Method = C.EBB_CALL_EXPLAIN          // ExplainCall -> ExplainReply
	MethodFilter          Method = C.EBB_CALL_FILTER           // FilterCall -> FilterReply
	MethodPass            Method = C.EBB_CALL_PASS             // PlanInput -> PassReply
	MethodRound           Method = C.EBB_CALL_ROUND            // RoundCall -> RoundReply
	MethodReportActuation Method = C.EBB_CALL_REPORT_ACTUATION // ActuationReport -> ActuationReply
	MethodStatus          Method = C.EBB_CALL_STATUS           // StatusRequest -> SessionStatus
	MethodExport          Method = C.EBB_CALL_EXPORT           // ExportCall -> a snapshot, which is no message
	MethodPassTable       Method = C.EBB_CALL_PASS_TABLE       // PlanInput -> PassTable
)

// Plan says which nodes can go, all together, and where their pods land: without a form in the
// request, in PlanReply.Data.
func (c *Cluster) Plan(ctx context.Context, request *plannerpb.PlanCall) (*plannerpb.PlanReply, error) {
	request = orDefault(request)
	form := request.Form
	if form == nil {
		form = plannerpb.Form_AS_DATA.Enum()
	}
	return ask[plannerpb.PlanReply](ctx, c, MethodPlan, func() proto.Message {
		return &plannerpb.PlanCall{
			Input: bounded(ctx, request.Input), Form: form, Rows: request.Rows, EveryNode: request.EveryNode,
		}
	})
}

// Pass is one pass of the planner, for a program that keeps timers, cooldowns and budgets itself and
// knows its node groups.
func (c *Cluster) Pass(ctx context.Context, request *plannerpb.PlanInput) (*plannerpb.PassReply, error) {
	return ask[plannerpb.PassReply](ctx, c, MethodPass, func() proto.Message { return bounded(ctx, orDefault(request)) })
}

// PassTable is [Cluster.Pass] with the answer in columns, which costs a tenth where many pods move.
func (c *Cluster) PassTable(ctx context.Context, request *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
	return ask[plannerpb.PassTable](ctx, c, MethodPassTable, func() proto.Message { return bounded(ctx, orDefault(request)) })
}

// Explain says why nodes stay or go, in the form that the request asks for.
func (c *Cluster) Explain(ctx context.Context, request *plannerpb.ExplainCall) (*plannerpb.ExplainReply, error) {
	request = orDefault(request)
	return ask[plannerpb.ExplainReply](ctx, c, MethodExplain, func() proto.Message {
		return &plannerpb.ExplainCall{
			Input: bounded(ctx, request.Input), Form: request.Form, Nodes: request.Nodes, Remedies: request.Remedies,
		}
	})
}

// Filter says what the scheduler's filters make of pods.
func (c *Cluster) Filter(ctx context.Context, request *plannerpb.FilterCall) (*plannerpb.FilterReply, error) {
	return ask[plannerpb.FilterReply](ctx, c, MethodFilter, func() proto.Message { return orDefault(request) })
}

// Round is a round of the planner over time. It is on disk before Round returns. It needs
// [Options.StateFolder].
func (c *Cluster) Round(ctx context.Context, request *plannerpb.RoundCall) (*plannerpb.RoundReply, error) {
	request = orDefault(request)
	return ask[plannerpb.RoundReply](ctx, c, MethodRound, func() proto.Message {
		return &plannerpb.RoundCall{Input: bounded(ctx, request.Input), Form: request.Form}
	})
}

// ReportActuation tells what came of the deletions that rounds asked for. It is on disk before
// ReportActuation returns. It needs [Options.StateFolder].
func (c *Cluster) ReportActuation(ctx context.Context, report *plannerpb.ActuationReport) (*plannerpb.ActuationReply, error) {
	return ask[plannerpb.ActuationReply](ctx, c, MethodReportActuation, func() proto.Message { return orDefault(report) })
}

// Status says what the cluster holds and what it did.
func (c *Cluster) Status(ctx context.Context) (*plannerpb.SessionStatus, error) {
	return ask[plannerpb.SessionStatus](ctx, c, MethodStatus, func() proto.Message { return &plannerpb.StatusRequest{} })
}

// Export returns the cluster as a binary snapshot, which Load and "ebb plan" read.
func (c *Cluster) Export(ctx context.Context) ([]byte, error) { return c.Call(ctx, MethodExport, nil) }

// Call makes any of the calls, with bytes of protobuf in and out: for a program that writes and reads
// them in its own way. The context's deadline is not in the bytes: a planner that is to end by it
// is told so in the request.
func (c *Cluster) Call(ctx context.Context, method Method, request []byte) ([]byte, error) {
	return c.call(ctx, method, func() ([]byte, error) { return request, nil })
}

// call asks for the bytes of the request when its turn has come, as the time that is left may be in
// them.
func (c *Cluster) call(ctx context.Context, method Method, request func() ([]byte, error)) (reply []byte, err error) {
	err = c.do(ctx, func(handle *C.ebb_cluster) error {
		bytes, err := request()
		if err != nil {
			return err
		}
		var told *C.ebb_error
		var made *C.ebb_bytes
		code := C.ebb_cluster_call(handle, C.ebb_call(method), C.EBB_PROTOBUF, bytesOf(bytes), C.size_t(len(bytes)), &made, &told)
		if err := errorOf(code, told); err != nil {
			return err
		}
		defer C.ebb_bytes_free(made)
		text := C.ebb_bytes_text(made)
		// C.GoBytes would take 2 GiB at most.
		reply = append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(text.data)), int(text.size))...)
		return nil
	})
	return reply, err
}

// message is a pointer to a message of type M.
type message[M any] interface {
	*M
	proto.Message
}

func ask[M any, P message[M]](ctx context.Context, c *Cluster, method Method, request func() proto.Message) (P, error) {
	bytes, err := c.call(ctx, method, func() ([]byte, error) {
		bytes, err := proto.Marshal(request())
		if err != nil {
			return nil, &Error{Code: InvalidArgument, Message: "request: " + err.Error()}
		}
		return bytes, nil
	})
	if err != nil {
		return nil, err
	}
	reply := P(new(M))
	if err := proto.Unmarshal(bytes, reply); err != nil {
		return nil, &Error{Code: Internal, Message: "reply: " + err.Error()}
	}
	return reply, nil
}

func orDefault[M any](message *M) *M {
	if message == nil {
		return new(M)
	}
	return message
}

// bounded is input with the time that the context leaves, if that is less than what input allows.
func bounded(ctx context.Context, input *plannerpb.PlanInput) *plannerpb.PlanInput {
	deadline, ok := ctx.Deadline()
	if !ok {
		return input
	}
	// A planner without any time is refused; one with next to none answers that it has none.
	left := max(time.Until(deadline).Seconds(), 1e-9)
	if input != nil && input.TimeLimitSeconds != nil && *input.TimeLimitSeconds <= left {
		return input
	}
	made := &plannerpb.PlanInput{}
	if input != nil {
		made = proto.Clone(input).(*plannerpb.PlanInput)
	}
	made.TimeLimitSeconds = &left
	return made
}
