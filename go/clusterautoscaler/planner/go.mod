module ebb/go/clusterautoscaler/planner

go 1.26.0

require (
	ebb/go/clusterautoscaler v0.0.0
	sigs.k8s.io/cluster-autoscaler v0.0.0
)

replace ebb/go/clusterautoscaler => ../

replace ebb/go/ebb => ../../ebb
