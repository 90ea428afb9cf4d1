// Package choice has the flags by which an autoscaler chooses its scale-down planner. It needs no
// type of the autoscaler, so the autoscaler's options can hold a Choice.
package choice

import (
	"fmt"
	"strings"
)

// Values of --scale-down-planner.
const (
	BuiltIn = "builtin"
	Ebb     = "ebb"
	Shadow  = "shadow"
)

// Choice is what the flags say; the zero value means the built-in planner.
type Choice struct {
	// Planner is BuiltIn, Ebb or Shadow; "" means BuiltIn.
	Planner string
	// Address is "unix:PATH", the socket of an `ebb serve`; "" means that ebb is inside the program.
	Address string
}

// FlagSet is a flag.FlagSet or a pflag.FlagSet.
type FlagSet interface {
	Func(name, usage string, set func(string) error)
}

// Flags defines the flags and returns what they set.
func Flags(flags FlagSet) *Choice {
	choice := &Choice{}
	choice.AddFlags(flags)
	return choice
}

// AddFlags defines the flags, which set c and reject unknown values.
func (c *Choice) AddFlags(flags FlagSet) {
	text := func(field *string) func(string) error {
		return func(value string) error {
			*field = value
			return c.Check()
		}
	}
	flags.Func("scale-down-planner", "Which planner decides what is scaled down: builtin (the default), ebb, or shadow. In shadow mode the built-in planner decides, and differences between its verdicts and those of ebb are reported.", text(&c.Planner))
	flags.Func("scale-down-planner-address", "The socket of an ebb serve beside this process, unix:PATH, which plans for --scale-down-planner=ebb and shadow. Without an address, ebb must be built into this program.", text(&c.Address))
}

// Check returns an error that names the flag with an unknown value.
func (c *Choice) Check() error {
	switch c.Planner {
	case "", BuiltIn, Ebb, Shadow:
	default:
		return fmt.Errorf("--scale-down-planner=%s: is not %s, %s or %s", c.Planner, BuiltIn, Ebb, Shadow)
	}
	if c.Address == "" {
		return nil
	}
	if err := CheckAddress(c.Address); err != nil {
		return fmt.Errorf("--scale-down-planner-address: %w", err)
	}
	return nil
}

// CheckAddress returns an error if the address does not name a socket.
func CheckAddress(address string) error {
	if path, isUnix := strings.CutPrefix(address, "unix:"); !isUnix || path == "" {
		return fmt.Errorf("address %q: is not unix:PATH", address)
	}
	return nil
}
