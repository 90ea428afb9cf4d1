package actuate

import (
	"context"
	"errors"
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

var orderID = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// buyer returns the provider if it is configured to buy machines, otherwise nil.
func (a *Actuator) buyer() provider.Buyer {
	if buyer, ok := a.o.Provider.(provider.Buyer); ok && buyer.CanBuy() {
		return buyer
	}
	return nil
}

// Buy makes the provider buy machines, and returns the state of their nodes. The ids of the orders
// are the idempotency keys, so a repeated call asks the provider again.
func (a *Actuator) Buy(ctx context.Context, request *wire.BuyRequest) (*wire.BuyReply, error) {
	orders := make([]provider.Order, 0, len(request.GetOrders()))
	for i, each := range request.GetOrders() {
		if !orderID.MatchString(each.GetId()) {
			return nil, status.Errorf(codes.InvalidArgument, "orders[%d].id: %q is not an id", i, cut(each.GetId()))
		}
		orders = append(orders, provider.Order{
			ID: each.GetId(), Group: each.GetGroup(), MachineType: each.GetMachineType(),
			Zone: each.GetZone(), CapacityType: each.GetCapacityType(), Like: each.GetLike(),
		})
	}
	buyer := a.buyer()
	if buyer == nil {
		return nil, status.Errorf(codes.Unimplemented, "the provider %s is not configured to buy machines", a.o.Provider.Name())
	}
	a.calls.Lock()
	defer a.calls.Unlock()
	if a.ctx.Err() != nil {
		return nil, status.Error(codes.Unavailable, "this replica is stopping")
	}
	bought, err := buyer.Buy(ctx, orders)
	if err != nil {
		var refused *provider.RefusedOrder
		if errors.As(err, &refused) {
			return nil, status.Error(codes.FailedPrecondition, err.Error())
		}
		return nil, toStatus(err)
	}
	reply := &wire.BuyReply{}
	for i, each := range bought {
		reply.Machines = append(reply.Machines, &wire.BoughtMachine{Id: orders[i].ID, Node: each.Node, Ready: each.Ready, WaitsFor: each.WaitsFor})
	}
	return reply, nil
}
