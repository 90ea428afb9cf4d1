// Package choice has the flags by which an autoscaler chooses its scale-down planner. It needs no
// type of the autoscaler, so the autoscaler's options can hold a Choice.
package choice

import (
	"fmt"
	"strconv"
	"strings"
)

// Values of --scale-down-planner.
const (
	BuiltIn = "builtin"
	Ebb     = "ebb"
	Shadow  = "shadow"
)

// Values of --scale-down-planner-keep-pods, besides Shadow.
const (
	Off = "off"
	On  = "on"
)

// What applies without the flags.
const (
	DefaultCheckOneIn    = 50
	DefaultMismatchesMax = 3
)

// Choice is what the flags say; the zero value means the built-in planner.
type Choice struct {
	// Planner is BuiltIn, Ebb or Shadow; "" means BuiltIn.
	Planner string
	// Address is "unix:PATH", the socket of an `ebb serve`; "" means that ebb is inside the program.
	Address string
	// CheckOneIn: one in so many of ebb's removals, and at least one in each loop, is simulated again
	// by the autoscaler. 0 means DefaultCheckOneIn, a negative number means none.
	CheckOneIn int
	// MismatchesMax: after so many removals that the autoscaler refuses, ebb no longer decides. 0 means
	// DefaultMismatchesMax.
	MismatchesMax int
	// RecordFolder receives a file about each of these removals; "" means that none is written.
	RecordFolder string
	// SendInLoops: nodes and pods are sent to ebb in the loops alone, and not between them, from informer
	// events.
	SendInLoops bool
	// KeepPods is Off, On or Shadow; "" means Off. On: the autoscaler's snapshot keeps from loop to loop
	// what was computed about pods.
	KeepPods string
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
	flags.Func("scale-down-planner-check-one-in", fmt.Sprintf("With --scale-down-planner=ebb: one in so many of the removals that ebb found, and at least one in each loop, is checked by the autoscaler's own simulation. 0: none. Default: %d.", DefaultCheckOneIn), func(value string) (err error) {
		if c.CheckOneIn, err = number(value, 0); c.CheckOneIn == 0 {
			c.CheckOneIn = -1
		}
		return err
	})
	flags.Func("scale-down-planner-mismatches-max", fmt.Sprintf("After so many of these removals were refused by the autoscaler's own simulation, ebb no longer decides until this program is started again. Default: %d.", DefaultMismatchesMax), func(value string) (err error) {
		c.MismatchesMax, err = number(value, 1)
		return err
	})
	flags.Func("scale-down-planner-record-folder", "A folder for one file about each of these removals, with the cluster and the question, with which ebb can be asked again. Without a folder, the log only names the nodes.", text(&c.RecordFolder))
	flags.Func("scale-down-planner-send-ahead", "With --scale-down-planner=ebb: whether nodes and pods are sent to ebb between the loops, from informer events: true or false. Default: true.", func(value string) error {
		ahead, err := strconv.ParseBool(value)
		c.SendInLoops = err == nil && !ahead
		return err
	})
	flags.Func("scale-down-planner-keep-pods", "Whether the snapshot keeps from loop to loop what was computed about pods that have not changed: off (the default), on, or shadow. In shadow mode the snapshot is made anew, and differences are reported.", text(&c.KeepPods))
}

func number(value string, least int) (int, error) {
	number, err := strconv.Atoi(value)
	if err != nil || number < least {
		return 0, fmt.Errorf("%q is not a number from %d on", value, least)
	}
	return number, nil
}

// Check returns an error that names the flag with an unknown value.
func (c *Choice) Check() error {
	switch c.Planner {
	case "", BuiltIn, Ebb, Shadow:
	default:
		return fmt.Errorf("--scale-down-planner=%s: is not %s, %s or %s", c.Planner, BuiltIn, Ebb, Shadow)
	}
	switch c.KeepPods {
	case "", Off, On, Shadow:
	default:
		return fmt.Errorf("--scale-down-planner-keep-pods=%s: is not %s, %s or %s", c.KeepPods, Off, On, Shadow)
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
