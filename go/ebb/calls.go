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

// A Method is a call that takes one message and returns another one.
type Method int

// The methods of [Cluster.Call], with the messages that they take and return.
const (
	MethodPlan            Method = C.EBB_CALL_PLAN             // PlanCall -> PlanReply
	MethodExplain         Method = C.EBB_CALL_EXPLAIN          // ExplainCall -> ExplainReply
	MethodFilter          Method = C.EBB_CALL_FILTER           // FilterCall -> FilterReply
	MethodPass            Method = C.EBB_CALL_PASS             // PlanInput -> PassReply
	MethodRound           Method = C.EBB_CALL_ROUND            // RoundCall -> RoundReply
	MethodReportActuation Method = C.EBB_CALL_REPORT_ACTUATION // ActuationReport -> ActuationReply
	MethodStatus          Method = C.EBB_CALL_STATUS           // StatusRequest -> SessionStatus
	MethodExport          Method = C.EBB_CALL_EXPORT           // ExportCall -> bytes of a snapshot
	MethodPassTable       Method = C.EBB_CALL_PASS_TABLE       // PlanInput -> PassTable
)

// Plan returns which nodes can go, all together, and where their pods land. If the request names no
// form, the plan is in PlanReply.Data.
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

// Pass runs one pass of the planner. It is for a program that keeps timers, cooldowns and budgets
// itself and knows its node groups.
func (c *Cluster) Pass(ctx context.Context, request *plannerpb.PlanInput) (*plannerpb.PassReply, error) {
	return ask[plannerpb.PassReply](ctx, c, MethodPass, func() proto.Message { return bounded(ctx, orDefault(request)) })
}

// PassTable is [Cluster.Pass] with the reply in columns, which costs a tenth if many pods move.
func (c *Cluster) PassTable(ctx context.Context, request *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
	return ask[plannerpb.PassTable](ctx, c, MethodPassTable, func() proto.Message { return bounded(ctx, orDefault(request)) })
}

// Explain returns why nodes stay or go, in the form that the request names.
func (c *Cluster) Explain(ctx context.Context, request *plannerpb.ExplainCall) (*plannerpb.ExplainReply, error) {
	request = orDefault(request)
	return ask[plannerpb.ExplainReply](ctx, c, MethodExplain, func() proto.Message {
		return &plannerpb.ExplainCall{
			Input: bounded(ctx, request.Input), Form: request.Form, Nodes: request.Nodes, Remedies: request.Remedies,
		}
	})
}

// Filter returns the verdicts of the scheduler's filters on pods.
func (c *Cluster) Filter(ctx context.Context, request *plannerpb.FilterCall) (*plannerpb.FilterReply, error) {
	return ask[plannerpb.FilterReply](ctx, c, MethodFilter, func() proto.Message { return orDefault(request) })
}

// Round makes one round of the planner over time. The round is on disk before Round returns.
// Requires [Options.StateFolder].
func (c *Cluster) Round(ctx context.Context, request *plannerpb.RoundCall) (*plannerpb.RoundReply, error) {
	request = orDefault(request)
	return ask[plannerpb.RoundReply](ctx, c, MethodRound, func() proto.Message {
		return &plannerpb.RoundCall{Input: bounded(ctx, request.Input), Form: request.Form}
	})
}

// ReportActuation reports the results of the deletions that rounds ordered. The report is on disk
// before ReportActuation returns. Requires [Options.StateFolder].
func (c *Cluster) ReportActuation(ctx context.Context, report *plannerpb.ActuationReport) (*plannerpb.ActuationReply, error) {
	return ask[plannerpb.ActuationReply](ctx, c, MethodReportActuation, func() proto.Message { return orDefault(report) })
}

// Status returns what the cluster holds and counters of its work.
func (c *Cluster) Status(ctx context.Context) (*plannerpb.SessionStatus, error) {
	return ask[plannerpb.SessionStatus](ctx, c, MethodStatus, func() proto.Message { return &plannerpb.StatusRequest{} })
}

// Export returns the cluster as a binary snapshot, which Load and "ebb plan" read.
func (c *Cluster) Export(ctx context.Context) ([]byte, error) { return c.Call(ctx, MethodExport, nil) }

// Call makes any of the calls with protobuf bytes in and out, for a program that encodes messages
// itself. Call does not write the context's deadline into the request: a request that should bound
// the planner sets its time limit itself.
func (c *Cluster) Call(ctx context.Context, method Method, request []byte) ([]byte, error) {
	return c.call(ctx, method, func() ([]byte, error) { return request, nil })
}

// call runs request only once no other call runs, because the request may contain the time that is
// left.
func (c *Cluster) call(ctx context.Context, method Method, request func() ([]byte, error)) (reply []byte, err error) {
	err = c.do(ctx, func(handle *C.ebb_cluster) error {
		bytes, err := request()
		if err != nil {
			return err
		}
		var failure *C.ebb_error
		var made *C.ebb_bytes
		code := C.ebb_cluster_call(handle, C.ebb_call(method), C.EBB_PROTOBUF, bytesOf(bytes), C.size_t(len(bytes)), &made, &failure)
		if err := errorOf(code, failure); err != nil {
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

// bounded returns input with the time that the context leaves, if that is less than input allows.
func bounded(ctx context.Context, input *plannerpb.PlanInput) *plannerpb.PlanInput {
	deadline, ok := ctx.Deadline()
	if !ok {
		return input
	}
	// The planner rejects a time limit of zero; with almost no time it returns an empty plan.
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
