package serve

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// assign hands a request on that was read already.
func assign(into, request any) error {
	to, ok := into.(proto.Message)
	from, also := request.(proto.Message)
	if !ok || !also {
		return fmt.Errorf("%T is no message", request)
	}
	proto.Merge(to, from)
	return nil
}
