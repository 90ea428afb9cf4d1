package engine

import (
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb/plannerpb"
)

// PassCall and PassReply of service/wire/planner.proto.  They are read and written by hand: a reply
// names each pod that moves, and its texts need not be copied one by one.

func encode(request *clusterautoscaler.Request) []byte {
	var input []byte
	input = number(input, 4, uint64(request.Now.Unix()))
	input = double(input, 7, request.TimeLimit.Seconds())
	call := message(make([]byte, 0, 64*len(request.Candidates)), 1, input)
	call = texts(call, 2, request.Candidates)
	call = message(call, 3, texts(nil, 1, request.Destinations))
	var groups []byte
	for i := range request.Groups {
		groups = message(groups, 1, encodeGroup(&request.Groups[i]))
	}
	call = message(call, 4, texts(groups, 2, request.GPUNodes))
	if request.PodsAsListed {
		call = number(call, 6, uint64(plannerpb.PodOrder_AS_LISTED))
	}
	return number(call, 5, uint64(max(request.UnneededLimit, 0)))
}

func encodeGroup(group *clusterautoscaler.Group) []byte {
	data := texts(nil, 1, []string{group.Name})
	data = texts(data, 2, group.Nodes)
	data = number(data, 3, protowire.EncodeBool(group.Atomic))
	data = double(data, 4, group.UtilizationThreshold)
	data = double(data, 5, group.GPUUtilizationThreshold)
	return number(data, 6, protowire.EncodeBool(group.IgnoreDaemonSetsUtilization))
}

func number(data []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, field, protowire.VarintType), value)
}

func double(data []byte, field protowire.Number, value float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(data, field, protowire.Fixed64Type), math.Float64bits(value))
}

func message(data []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(data, field, protowire.BytesType), value)
}

func texts(data []byte, field protowire.Number, values []string) []byte {
	for _, value := range values {
		data = protowire.AppendString(protowire.AppendTag(data, field, protowire.BytesType), value)
	}
	return data
}

// A field of a message: bytes, or a number.
type field struct {
	number protowire.Number
	data   []byte
	value  uint64
}

// The text shares the reply's bytes, which nobody writes to.
func (f *field) text() string { return unsafe.String(unsafe.SliceData(f.data), len(f.data)) }

func (f *field) float() float64 { return math.Float64frombits(f.value) }

// Calls take for every field of a message.
func each(data []byte, take func(f field) error) error {
	for len(data) > 0 {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return fmt.Errorf("ebb: the reply is damaged: %w", protowire.ParseError(size))
		}
		data = data[size:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, size = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			f.value, size = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			f.data, size = protowire.ConsumeBytes(data)
		default:
			size = protowire.ConsumeFieldValue(number, kind, data)
		}
		if size < 0 {
			return fmt.Errorf("ebb: the reply is damaged: %w", protowire.ParseError(size))
		}
		if err := take(f); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

func decode(reply []byte) (*clusterautoscaler.Result, error) {
	result := &clusterautoscaler.Result{}
	err := each(reply, func(f field) error {
		if f.number != 3 {
			return nil
		}
		return each(f.data, func(f field) error { return decodePlan(f, result) })
	})
	return result, err
}

func decodePlan(f field, result *clusterautoscaler.Result) error {
	switch f.number {
	case 1:
		result.Termination = f.text()
	case 2:
		removal, err := decodeRemoval(f.data)
		result.Removals = append(result.Removals, removal)
		return err
	case 3:
		kept, err := decodeKept(f.data)
		result.Kept = append(result.Kept, kept)
		return err
	case 4:
		result.Skipped = append(result.Skipped, f.text())
	case 5:
		use, err := decodeUse(f.data)
		result.Utilization = append(result.Utilization, use)
		return err
	}
	return nil
}

func decodeRemoval(data []byte) (removal clusterautoscaler.Removal, err error) {
	err = each(data, func(f field) error {
		switch f.number {
		case 1:
			removal.Node = f.text()
		case 2:
			var move clusterautoscaler.Move
			err := each(f.data, func(f field) (err error) {
				switch f.number {
				case 1:
					move.Pod, err = decodePod(f.data)
				case 2:
					move.To = f.text()
				}
				return err
			})
			removal.Moves = append(removal.Moves, move)
			return err
		case 3:
			pod, err := decodePod(f.data)
			removal.DaemonSet = append(removal.DaemonSet, pod)
			return err
		case 4:
			pod, err := decodePod(f.data)
			removal.OnCompletion = append(removal.OnCompletion, pod)
			return err
		case 5:
			removal.Risky = protowire.DecodeBool(f.value)
		}
		return nil
	})
	return removal, err
}

func decodePod(data []byte) (name wire.PodName, err error) {
	err = each(data, func(f field) error {
		switch f.number {
		case 1:
			name.Namespace = f.text()
		case 2:
			name.Name = f.text()
		}
		return nil
	})
	return name, err
}

func decodeKept(data []byte) (kept clusterautoscaler.Kept, err error) {
	err = each(data, func(f field) (err error) {
		switch f.number {
		case 1:
			kept.Node = f.text()
		case 2:
			kept.Reason = f.text()
		case 3:
			kept.Pod, err = decodePod(f.data)
		case 4:
			kept.BlockingReason = f.text()
		}
		return err
	})
	return kept, err
}

func decodeUse(data []byte) (use clusterautoscaler.Utilization, err error) {
	err = each(data, func(f field) error {
		switch f.number {
		case 1:
			use.Node = f.text()
		case 2:
			use.CPU = f.float()
		case 3:
			use.Memory = f.float()
		case 4:
			use.GPU = f.float()
		case 5:
			use.Resource = f.text()
		case 6:
			use.Utilization = f.float()
		}
		return nil
	})
	return use, err
}
