package serve

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// assign copies a request that has been decoded already.
func assign(into, request any) error {
	to, ok := into.(proto.Message)
	from, also := request.(proto.Message)
	if !ok || !also {
		return fmt.Errorf("%T is not a protobuf message", request)
	}
	proto.Merge(to, from)
	return nil
}
