package main

import (
	"encoding/json"
	"slices"
)

// Shrink returns the smallest request that it finds for which stillWrong holds. It leaves out pods,
// nodes, other objects and then fields, one after another, until nothing more can be left out.
//
// Cost: some thousand calls of stillWrong for a cluster of a dozen nodes.
func Shrink(request *Request, stillWrong func(*Request) bool) *Request {
	text, err := json.Marshal(request)
	if err != nil {
		return request
	}
	s := &shrinker{stillWrong: stillWrong}
	if json.Unmarshal(text, &s.tree) != nil || !s.holds() {
		return request
	}
	for again := true; again; {
		again = s.dropElements(s.tree, "pods") || s.dropElements(s.tree, "objects")
		for _, object := range s.tree["objects"].([]any) {
			again = s.dropInside(object) || again
		}
	}
	smallest, _ := s.request()
	return smallest
}

// shrinker works on a request as plain JSON, so it need not know kinds and fields.
type shrinker struct {
	tree       map[string]any
	stillWrong func(*Request) bool
}

func (s *shrinker) request() (*Request, error) {
	text, err := json.Marshal(s.tree)
	if err != nil {
		return nil, err
	}
	request := &Request{}
	return request, json.Unmarshal(text, request)
}

func (s *shrinker) holds() bool {
	request, err := s.request()
	return err == nil && len(request.Pods) > 0 && s.stillWrong(request)
}

// needed are fields that an API server requires: without them Shrink would find another mistake.
var needed = []string{
	"apiVersion", "kind", "name", "namespace", "uid", "key", "operator", "topologyKey", "maxSkew",
	"whenUnsatisfiable", "containers", "nodeSelectorTerms", "values", "provisioner",
	"volumeBindingMode", "driver", "volumeHandle", "source", "nodeName", "accessModes", "claimName",
	"preference", "podAffinityTerm", "exitCodes", "weight", "image", "cel", "expression",
	"deviceClassName", "allocationMode",
}

// dropInside leaves out what it can inside value; it reports whether anything was left out.
func (s *shrinker) dropInside(value any) bool {
	dropped := false
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			switch {
			case (!slices.Contains(needed, key) || key == "nodeName" && s.isPodSpec(v)) &&
				s.drop(func() { delete(v, key) }, func(old any) { v[key] = old }, v[key]):
				dropped = true
			case isList(v[key]):
				dropped = s.dropElements(v, key) || dropped
				for _, element := range v[key].([]any) {
					dropped = s.dropInside(element) || dropped
				}
			default:
				dropped = s.dropInside(v[key]) || dropped
			}
		}
	}
	return dropped
}

// isPodSpec distinguishes a pod's spec, whose nodeName may be left out, from a VolumeAttachment's.
func (s *shrinker) isPodSpec(v map[string]any) bool { return v["containers"] != nil }

// dropElements leaves out elements of the list parent[key]: halves first, then one by one.  A list
// in a needed field keeps one element.
func (s *shrinker) dropElements(parent map[string]any, key string) bool {
	least := 0
	if slices.Contains(needed, key) || key == "pods" {
		least = 1
	}
	dropped := false
	for size := len(parent[key].([]any)); size > 0; size /= 2 {
		for start := 0; start < len(parent[key].([]any)); {
			list := parent[key].([]any)
			end := min(start+size, len(list))
			shorter := slices.Concat(list[:start], list[end:])
			if len(shorter) >= least && s.drop(func() { parent[key] = shorter },
				func(old any) { parent[key] = old }, list) {
				dropped = true
			} else {
				start = end
			}
		}
	}
	return dropped
}

// drop applies a change and keeps it if the request is still wrong.
func (s *shrinker) drop(apply func(), undo func(old any), old any) bool {
	apply()
	if s.holds() {
		return true
	}
	undo(old)
	return false
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
