//go:build !kubernetes137

package main

import (
	v1 "k8s.io/api/core/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
)

type podGroup = schedulingapi.PodGroup

// kubernetesVersion is the version of the scheduler that this program is built with.
const kubernetesVersion = "1.36"

func (g *generator) needNewFeatures(*v1.Container) {}
