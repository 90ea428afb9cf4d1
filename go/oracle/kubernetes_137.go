//go:build kubernetes137

package main

import (
	v1 "k8s.io/api/core/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	fwk "k8s.io/kube-scheduler/framework"
)

// kubernetesVersion is the version of the scheduler that this program is built with.
const kubernetesVersion = "1.37"

type podGroup = schedulingapi.PodGroup

func (s *snapshot) CompositePodGroupStates() fwk.CompositePodGroupStateLister { return nil }
func (s *snapshot) CompositePodGroups() fwk.CompositePodGroupLister           { return nil }

// needNewFeatures makes the container require a feature that nodes declare since 1.37.
func (g *generator) needNewFeatures(container *v1.Container) {
	if g.chance(0.15) {
		container.VolumeMounts = append(container.VolumeMounts, v1.VolumeMount{Name: "scratch",
			MountPath: "/scratch", BindMountOptions: []string{"noexec"}})
	}
}
