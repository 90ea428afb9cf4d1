package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumeShelf has the volumes that the pods of one cluster can use.
type volumeShelf struct {
	claims map[string][]string // Names of claims by namespace.
}

const (
	driverA = "a.csi.example.com"
	driverB = "b.csi.example.com" // Tracks storage capacity.

	annBindCompleted = "pv.kubernetes.io/bind-completed"
	annSelectedNode  = "volume.kubernetes.io/selected-node"
)

// In-tree plugins that v1.36 treats as CSI drivers, and the topology key of these drivers.
var migrated = map[string]struct{ driver, zoneKey string }{
	"kubernetes.io/gce-pd":  {"pd.csi.storage.gke.io", "topology.gke.io/zone"},
	"kubernetes.io/aws-ebs": {"ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"},
}

func (g *generator) makeVolumes() {
	g.shelf.claims = map[string][]string{}
	if g.on["CSIMigration"] || g.on["PersistentVolumes"] {
		g.makeCSINodes()
	}
	if !g.on["PersistentVolumes"] {
		return
	}
	g.makeStorageClasses()
	g.makeDriversAndCapacities()
	var names []string
	for i := range 4 + g.IntN(5) {
		names = append(names, g.makePersistentVolume(i))
	}
	for i := range 4 + g.IntN(6) {
		g.makeClaim(i, names)
	}
	g.makeAttachments(names)
}

func (g *generator) makeCSINodes() {
	for _, node := range g.nodes {
		if g.on["CSIMigration"] && g.chance(0.5) {
			for _, plugin := range migrated {
				// Map order is random, so do not draw from g inside this loop.
				node.Labels[plugin.zoneKey] = node.Labels[v1.LabelTopologyZone]
			}
		}
		if g.chance(0.15) {
			continue
		}
		csiNode := &storagev1.CSINode{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"},
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: g.uid()},
		}
		csiNode.Spec.Drivers = []storagev1.CSINodeDriver{}
		if g.on["CSIMigration"] {
			csiNode.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: pick(g, "",
				"kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")}
		}
		for _, name := range []string{driverA, driverB, "pd.csi.storage.gke.io", "ebs.csi.aws.com"} {
			if g.chance(0.3) {
				continue
			}
			driver := storagev1.CSINodeDriver{Name: name, NodeID: node.Name,
				TopologyKeys: []string{v1.LabelTopologyZone}}
			if g.chance(0.8) {
				driver.Allocatable = &storagev1.VolumeNodeResources{}
				if g.chance(0.9) {
					driver.Allocatable.Count = pointerTo(int32(pick(g, 0, 1, 1, 1, 2, 2, 25)))
				}
			}
			csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, driver)
		}
		g.others = append(g.others, csiNode)
	}
}

var storageClassNames = []string{"late-a", "late-b", "static", "at-once", "legacy"}

func (g *generator) makeStorageClasses() {
	for _, name := range storageClassNames {
		if g.chance(0.05) {
			continue
		}
		class := &storagev1.StorageClass{
			TypeMeta:          metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
			ObjectMeta:        metav1.ObjectMeta{Name: name, UID: g.uid()},
			VolumeBindingMode: pointerTo(storagev1.VolumeBindingWaitForFirstConsumer),
		}
		switch name {
		case "late-a":
			class.Provisioner = driverA
		case "late-b":
			class.Provisioner = driverB
		case "static":
			class.Provisioner = "kubernetes.io/no-provisioner"
		case "at-once":
			class.Provisioner = driverA
			class.VolumeBindingMode = pointerTo(storagev1.VolumeBindingImmediate)
		case "legacy":
			class.Provisioner = pick(g, "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs")
		}
		if g.chance(0.35) {
			class.AllowedTopologies = g.allowedTopologies()
		}
		if g.on["Odd"] && g.chance(0.1) {
			class.VolumeBindingMode = nil
		}
		g.others = append(g.others, class)
	}
}

func (g *generator) allowedTopologies() []v1.TopologySelectorTerm {
	var terms []v1.TopologySelectorTerm
	for range pick(g, 1, 1, 2) {
		var term v1.TopologySelectorTerm
		for _, key := range some(g, 2, v1.LabelTopologyZone, v1.LabelTopologyRegion, "rack") {
			term.MatchLabelExpressions = append(term.MatchLabelExpressions,
				v1.TopologySelectorLabelRequirement{Key: key,
					Values: append(some(g, 1, g.nodeValue(key)), g.nodeValue(key))})
		}
		terms = append(terms, term)
	}
	return terms
}

func (g *generator) makeDriversAndCapacities() {
	for _, name := range []string{driverA, driverB} {
		if g.chance(0.1) {
			continue
		}
		driver := &storagev1.CSIDriver{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: g.uid()},
		}
		if name == driverB || g.chance(0.2) {
			driver.Spec.StorageCapacity = pointerTo(g.chance(0.9))
		}
		if kubernetesVersion != "1.36" && g.chance(0.4) {
			driver.Spec.PreventPodSchedulingIfMissing = pointerTo(g.chance(0.8))
		}
		g.others = append(g.others, driver)
	}
	for i := range g.IntN(5) {
		capacity := &storagev1.CSIStorageCapacity{
			TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIStorageCapacity"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprintf("room-%d", i),
				UID: g.uid()},
			StorageClassName: pick(g, "late-b", "late-b", "late-a"),
		}
		if g.chance(0.95) {
			capacity.NodeTopology = g.labelSelector(map[string][]string{
				v1.LabelTopologyZone: {"z1", "z2", "z3"}}, v1.LabelTopologyZone)
		}
		// Without a capacity, scoring by storage room (on since 1.37) panics.
		if g.chance(0.95) || kubernetesVersion != "1.36" {
			capacity.Capacity = pointerTo(resource.MustParse(pick(g, "0", "3Gi", "10Gi", "100Gi")))
		}
		if g.chance(0.4) {
			capacity.MaximumVolumeSize = pointerTo(resource.MustParse(pick(g, "0", "4Gi", "8Gi")))
		}
		g.others = append(g.others, capacity)
	}
}

func volumeName(i int) string { return fmt.Sprintf("pv-%d", i) }

// makePersistentVolume generates volume i. All volumes of a cluster differ in size, because between
// two volumes of the same size the scheduler takes the first one in its cache's random order.
func (g *generator) makePersistentVolume(i int) string {
	pv := &v1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(i), UID: g.uid(),
			Labels: map[string]string{}},
	}
	pv.Spec.Capacity = v1.ResourceList{
		v1.ResourceStorage: *resource.NewQuantity(int64(i*i+1)<<30, resource.BinarySI)}
	pv.Spec.AccessModes = g.accessModes()
	pv.Spec.StorageClassName = pick(g, append([]string{""}, storageClassNames...)...)
	pv.Status.Phase = pick(g, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeAvailable,
		v1.VolumeBound, v1.VolumeReleased)
	if g.chance(0.15) {
		pv.Spec.VolumeMode = pointerTo(pick(g, v1.PersistentVolumeBlock,
			v1.PersistentVolumeFilesystem))
	}
	if g.chance(0.1) {
		pv.Spec.VolumeAttributesClassName = pointerTo(pick(g, "", "gold"))
	}
	if g.chance(0.4) {
		key := pick(g, v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion,
			v1.LabelFailureDomainBetaRegion)
		pv.Labels[key] = g.nodeValue(key)
		if g.chance(0.3) {
			pv.Labels[key] += "__" + g.nodeValue(key)
		}
	}
	if g.chance(0.4) {
		pv.Labels["disk"] = pick(g, "fast", "slow")
	}
	if g.chance(0.4) {
		required := &v1.NodeSelector{}
		for range pick(g, 1, 1, 2) {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms,
				v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
					g.volumeRequirement()}})
		}
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: required}
	}
	if g.chance(0.05) {
		pv.DeletionTimestamp = pointerTo(metav1.Unix(1700000000, 0))
	}
	g.setVolumeSource(pv)
	g.others = append(g.others, pv)
	return pv.Name
}

func (g *generator) volumeRequirement() v1.NodeSelectorRequirement {
	key := pick(g, v1.LabelTopologyZone, v1.LabelHostname, "rack")
	return v1.NodeSelectorRequirement{Key: key,
		Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
		Values:   []string{g.nodeValue(key), g.nodeValue(key)}}
}

func (g *generator) setVolumeSource(pv *v1.PersistentVolume) {
	source := pick(g, "csi", "csi", "csi", "local")
	if g.on["CSIMigration"] {
		source = pick(g, "csi", "csi", "local", "gce", "aws")
	}
	switch source {
	case "csi":
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: pick(g, driverA, driverB),
			VolumeHandle: fmt.Sprintf("handle-%d", g.IntN(6))}
	case "local":
		pv.Spec.Local = &v1.LocalVolumeSource{Path: "/mnt/disk"}
	case "gce":
		pv.Spec.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{
			PDName: pick(g, "disk-1", "disk-2")}
	case "aws":
		pv.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{
			VolumeID: g.awsVolumeID()}
	}
}

func (g *generator) awsVolumeID() string {
	if g.on["Odd"] && g.chance(0.1) {
		return pick(g, "aws:///vol-1", "aws://z1/vol-2", "no-volume", "aws://z1/a/b")
	}
	return pick(g, "vol-1", "vol-2")
}

func (g *generator) accessModes() []v1.PersistentVolumeAccessMode {
	return pick(g,
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany},
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod})
}

// makeClaim generates claim i: most claims are bound to a volume, or wait for their first consumer.
func (g *generator) makeClaim(i int, volumes []string) {
	claim := g.newClaim(pick(g, namespaces[:3]...), fmt.Sprintf("claim-%d", i))
	switch g.IntN(10) {
	case 0, 1, 2, 3: // Bound.
		g.bind(claim, pick(g, volumes...))
	case 4: // Bound to a volume that does not exist, or not fully bound yet.
		if g.chance(0.5) {
			break
		}
		claim.Spec.VolumeName = pick(g, "pv-gone", pick(g, volumes...))
		if g.chance(0.7) {
			claim.Annotations[annBindCompleted] = "yes"
		}
	default:
		claim.Status.Phase = v1.ClaimPending
		if g.chance(0.15) {
			claim.Annotations[annSelectedNode] = nodeName(g.IntN(len(g.nodes) + 1))
		}
		if g.chance(0.25) {
			g.reserve(pick(g, volumes...), claim)
		}
	}
	if g.chance(0.01) {
		claim.DeletionTimestamp = pointerTo(metav1.Unix(1700000000, 0))
	}
	if g.chance(0.01) {
		claim.Status.Phase = v1.ClaimLost
	}
	g.others = append(g.others, claim)
	g.shelf.claims[claim.Namespace] = append(g.shelf.claims[claim.Namespace], claim.Name)
}

func (g *generator) newClaim(namespace, name string) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: g.uid(),
			Annotations: map[string]string{}},
	}
	claim.Spec.AccessModes = g.accessModes()
	claim.Spec.Resources.Requests = v1.ResourceList{
		v1.ResourceStorage: resource.MustParse(pick(g, "1Gi", "2Gi", "5Gi", "5Gi", "20Gi", "1500M"))}
	if g.on["Odd"] && g.chance(0.1) {
		claim.Spec.Resources.Requests = nil
	}
	switch {
	case g.chance(0.03):
		claim.Spec.StorageClassName = pointerTo(pick(g, "", "no-such-class"))
	case g.chance(0.04):
		claim.Annotations[v1.BetaStorageClassAnnotation] = pick(g, storageClassNames...)
	case g.chance(0.98):
		claim.Spec.StorageClassName = pointerTo(pick(g, "late-a", "late-a", "late-b", "late-b",
			"late-a", "late-b", "static", "static", "legacy", "at-once"))
	}
	if g.chance(0.15) {
		claim.Spec.Selector = g.labelSelector(map[string][]string{"disk": {"fast", "slow"}}, "disk")
	}
	if g.chance(0.1) {
		claim.Spec.VolumeMode = pointerTo(pick(g, v1.PersistentVolumeBlock,
			v1.PersistentVolumeFilesystem))
	}
	if g.chance(0.07) {
		claim.Spec.VolumeAttributesClassName = pointerTo(pick(g, "", "gold"))
	}
	return claim
}

func (g *generator) bind(claim *v1.PersistentVolumeClaim, volume string) {
	claim.Spec.VolumeName = volume
	claim.Annotations[annBindCompleted] = "yes"
	claim.Status.Phase = v1.ClaimBound
	g.reserve(volume, claim)
}

// reserve writes a claim into a volume, unless it has another claim: a claim with two volumes
// reserved for it would get a random one of them.
func (g *generator) reserve(volume string, claim *v1.PersistentVolumeClaim) {
	for _, object := range g.others {
		pv, ok := object.(*v1.PersistentVolume)
		if !ok || pv.Name != volume || pv.Spec.ClaimRef != nil {
			continue
		}
		pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim",
			Namespace: claim.Namespace, Name: claim.Name}
		if g.chance(0.7) {
			pv.Spec.ClaimRef.UID = claim.UID
		} else if g.chance(0.1) {
			pv.Spec.ClaimRef.UID = "00000000-dead-0000-0000-000000000000"
		}
		if claim.Spec.VolumeName == volume {
			pv.Status.Phase = v1.VolumeBound
		}
	}
}

func (g *generator) makeAttachments(volumes []string) {
	for i := range g.IntN(4) {
		attachment := &storagev1.VolumeAttachment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attachment-%d", i), UID: g.uid()},
		}
		attachment.Spec.Attacher = pick(g, driverA, driverB)
		attachment.Spec.NodeName = nodeName(g.IntN(len(g.nodes)))
		attachment.Spec.Source.PersistentVolumeName = pointerTo(pick(g,
			append([]string{"pv-gone"}, volumes...)...))
		g.others = append(g.others, attachment)
	}
}

// podVolumes generates the volumes of a pod template. Each ephemeral claim belongs to one pod, so
// makeEphemeralClaims adds these claims once the pods exist.
func (g *generator) podVolumes(namespace string) []v1.Volume {
	var volumes []v1.Volume
	add := func(source v1.VolumeSource) {
		volumes = append(volumes, v1.Volume{Name: fmt.Sprintf("vol%d", len(volumes)),
			VolumeSource: source})
	}
	if g.chance(0.2) {
		add(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	}
	if g.on["PersistentVolumes"] && g.chance(0.75) {
		if claims := g.shelf.claims[namespace]; len(claims) > 0 {
			for _, name := range append(some(g, 2, claims...), pick(g, claims...)) {
				if g.chance(0.02) {
					name = "claim-nobody-made"
				}
				add(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{
					ClaimName: name}})
			}
		}
		if g.chance(0.15) {
			add(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
				VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}})
		}
	}
	if g.on["VolumeRestrictions"] && g.chance(0.6) {
		for range 1 + g.IntN(2) {
			add(g.inlineDisk())
		}
	}
	return volumes
}

func (g *generator) inlineDisk() v1.VolumeSource {
	readOnly := g.chance(0.5)
	kind := g.IntN(4)
	if g.on["CSIMigration"] {
		kind = g.IntN(2)
	}
	switch kind {
	case 0:
		return v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{
			PDName: pick(g, "disk-1", "disk-2"), ReadOnly: readOnly}}
	case 1:
		return v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{
			VolumeID: g.awsVolumeID(), ReadOnly: readOnly}}
	case 2:
		return v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1:3260",
			IQN: pick(g, "iqn.2001-04.com.example:a", "iqn.2001-04.com.example:b"),
			Lun: int32(g.IntN(2)), ReadOnly: readOnly}}
	default:
		return v1.VolumeSource{RBD: &v1.RBDVolumeSource{
			CephMonitors: append(some(g, 1, "mon-1", "mon-2"), pick(g, "mon-3", "mon-4")),
			RBDPool:      pick(g, "rbd", "pool"), RBDImage: pick(g, "img-1", "img-2"),
			ReadOnly: readOnly}}
	}
}

// makeEphemeralClaims creates the claims that the ephemeral-volume controller would create.
func (g *generator) makeEphemeralClaims(pod *v1.Pod) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Ephemeral == nil || g.chance(0.1) {
			continue
		}
		claim := g.newClaim(pod.Namespace, pod.Name+"-"+volume.Name)
		claim.Status.Phase = v1.ClaimPending
		if g.chance(0.9) {
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod",
				Name: pod.Name, UID: pod.UID, Controller: pointerTo(true)}}
		}
		if isPlaced(pod) && g.chance(0.7) {
			g.bind(claim, volumeName(g.IntN(6)))
		}
		g.others = append(g.others, claim)
	}
}
