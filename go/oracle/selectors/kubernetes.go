package main

import "k8s.io/dynamic-resource-allocation/cel"

// features are those that are on by default.
var features = cel.Features{EnableConsumableCapacity: true}
