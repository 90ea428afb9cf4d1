package actuate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"ebb/go/kube/actuate"
	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

// buyingProvider answers each order with a node that is ready.
type buyingProvider struct {
	growingProvider
	err    error
	orders []provider.Order
}

func (*buyingProvider) CanBuy() bool { return true }

func (p *buyingProvider) Buy(_ context.Context, orders []provider.Order) ([]provider.Bought, error) {
	p.orders = orders
	return slices.Repeat([]provider.Bought{{Node: "new", Ready: true}}, len(orders)), p.err
}

func TestBuyAsksTheProviderAndReportsTheNodes(t *testing.T) {
	sells := &buyingProvider{}
	p := start(t, clusterOf(), func(o *actuate.Options) { o.Provider = sells })
	if slices.Contains(p.cannot(), "buy") {
		t.Error("it says that it cannot buy")
	}
	buy := func(id string) (*wire.BuyReply, error) {
		return p.Buy(t.Context(), &wire.BuyRequest{Key: key(), Orders: []*wire.MachineOrder{{Id: id, Group: "g", MachineType: "m8", Zone: "za"}}})
	}
	reply, err := buy("ebb-1")
	p.must(err)
	if len(reply.Machines) != 1 || reply.Machines[0].Id != "ebb-1" || reply.Machines[0].Node != "new" || !reply.Machines[0].Ready {
		t.Errorf("%v", reply)
	}
	if want := (provider.Order{ID: "ebb-1", Group: "g", MachineType: "m8", Zone: "za"}); sells.orders[0] != want {
		t.Errorf("%v", sells.orders)
	}
	for _, id := range []string{"", "Ebb", "-a", strings.Repeat("a", 41), "a/b"} {
		if _, err := buy(id); code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, test := range []struct {
		err  error
		want codes.Code
	}{
		{provider.RefuseOrder("ebb-1", "the limit is reached"), codes.FailedPrecondition},
		{fmt.Errorf("away (%w)", provider.ErrAgain), codes.Unavailable},
		{errors.New("away"), codes.Unavailable},
	} {
		sells.err = test.err
		if _, err := buy("ebb-1"); code(err) != test.want || !strings.Contains(err.Error(), test.err.Error()) {
			t.Errorf("%v", err)
		}
	}
}

func TestAProviderThatIsNotConfiguredToBuySaysSo(t *testing.T) {
	p := start(t, clusterOf())
	_, err := p.Buy(t.Context(), &wire.BuyRequest{Key: key()})
	if code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "not configured to buy machines") {
		t.Errorf("%v", err)
	}
}
