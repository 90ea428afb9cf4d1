package feed

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served is what an API server reports about kinds.
type Served struct {
	// Kinds that it serves, in the order in which they were given; optional kinds have their
	// version.
	Kinds []*Kind
	// Missing are the required kinds that it does not serve.
	Missing []*Kind
	// Unknown are the kinds whose API groups could not be listed, with the error.
	Unknown map[*Kind]error
}

// Look asks an API server which kinds it serves. For an optional kind it picks the version that the
// server prefers among the versions that have the kind.
//
// Cost: one request, and one for each version of a kind's group until the kind is found.
// Errors: the server does not list its groups.
func Look(client discovery.DiscoveryInterface, kinds []*Kind) (*Served, error) {
	l := looker{client: client, resources: map[string]map[string]bool{}, failed: map[string]error{}}
	groups, err := client.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("groups of the API server: %w", err)
	}
	versions := map[string][]string{}
	for i := range groups.Groups {
		versions[groups.Groups[i].Name] = inPreference(&groups.Groups[i])
	}
	served := &Served{Unknown: map[*Kind]error{}}
	for _, kind := range kinds {
		of := versions[kind.group]
		if !kind.Optional {
			of = []string{kind.GroupVersion}
		}
		version, err := l.find(of, kind.Resource)
		switch {
		case version != "":
			found := *kind
			found.GroupVersion = version
			if !kind.Optional {
				found = *kind
			}
			served.Kinds = append(served.Kinds, &found)
		case err != nil:
			served.Unknown[kind] = err
		case !kind.Optional:
			served.Missing = append(served.Missing, kind)
		}
	}
	return served, nil
}

// inPreference returns the versions of a group, the server's preferred version first.
func inPreference(group *metav1.APIGroup) []string {
	versions := []string{group.PreferredVersion.GroupVersion}
	for _, version := range group.Versions {
		if version.GroupVersion != versions[0] {
			versions = append(versions, version.GroupVersion)
		}
	}
	return versions
}

type looker struct {
	client    discovery.DiscoveryInterface
	resources map[string]map[string]bool // By group and version, then by resource.
	failed    map[string]error           // By group and version.
}

// find returns the first of the versions that has the resource; "" if none has it. It returns an
// error if no version that could be read has it and some could not be read.
func (l *looker) find(versions []string, resource string) (string, error) {
	var failed error
	for _, version := range versions {
		if l.resources[version] == nil {
			l.read(version)
		}
		if l.resources[version][resource] {
			return version, nil
		}
		if l.failed[version] != nil {
			failed = l.failed[version]
		}
	}
	return "", failed
}

func (l *looker) read(version string) {
	found := map[string]bool{}
	l.resources[version] = found
	list, err := l.client.ServerResourcesForGroupVersion(version)
	if err != nil && !apierrors.IsNotFound(err) {
		l.failed[version] = fmt.Errorf("resources of %s: %w", version, err)
	}
	if list != nil {
		for i := range list.APIResources {
			found[list.APIResources[i].Name] = true
		}
	}
}

func (k *Kind) resource() (schema.GroupVersionResource, error) {
	version, err := schema.ParseGroupVersion(k.GroupVersion)
	return version.WithResource(k.Resource), err
}
