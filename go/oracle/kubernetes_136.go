//go:build !kubernetes137

package main

import v1 "k8s.io/api/core/v1"

// kubernetesVersion is the version of the scheduler that this program is built with.
const kubernetesVersion = "1.36"

// withoutDevices names the plugin if no cluster has devices.
var withoutDevices []string

func (g *generator) needNewFeatures(*v1.Container) {}
