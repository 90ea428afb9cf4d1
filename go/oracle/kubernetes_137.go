//go:build kubernetes137

package main

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// kubernetesVersion is the version of the scheduler that this program is built with.
const kubernetesVersion = "1.37"

func (s *snapshot) CompositePodGroupStates() fwk.CompositePodGroupStateLister { return nil }
func (s *snapshot) CompositePodGroups() fwk.CompositePodGroupLister           { return nil }

// withoutDevices names the plugin if no cluster has devices.
var withoutDevices = []string{"DynamicResources"}

// needNewFeatures makes the container require a feature that nodes declare since 1.37.
func (g *generator) needNewFeatures(container *v1.Container) {
	if g.chance(0.15) {
		container.VolumeMounts = append(container.VolumeMounts, v1.VolumeMount{Name: "scratch",
			MountPath: "/scratch", BindMountOptions: []string{"noexec"}})
	}
}
