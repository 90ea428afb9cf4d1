//go:build kubernetes137

package main

import v1 "k8s.io/api/core/v1"

// devices is empty: clusters with devices are compared with 1.36 only.
type devices struct{ noDevices }

func newDevices() *devices                            { return &devices{} }
func (d *devices) clear()                             {}
func (d *devices) add(Object) bool                    { return false }
func (d *devices) unreserve(*v1.Pod) (putBack func()) { return func() {} }
