package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

type object = map[string]any

// others returns a client for kinds that client-go does not know.
func (c *cluster) others() dynamic.Interface {
	c.t.Helper()
	made, err := dynamic.NewForConfig(plane.Config)
	c.must(err)
	return made
}

// define installs kinds until the test ends, and waits until the API server serves them. When the
// test ends, their objects are deleted, whatever finalizers they have.
func (c *cluster) define(definitions ...*unstructured.Unstructured) {
	c.t.Helper()
	client := c.others()
	for _, definition := range definitions {
		_, err := client.Resource(crds).Create(c.ctx, definition, metav1.CreateOptions{})
		c.must(err)
		c.t.Cleanup(func() { c.undefine(client, definition) })
	}
	for _, definition := range definitions {
		resource := resourceOf(definition)
		c.eventually("the API server serves "+definition.GetName(), func() bool {
			_, err := client.Resource(resource).List(c.ctx, metav1.ListOptions{})
			return err == nil
		})
	}
}

func (c *cluster) undefine(client dynamic.Interface, definition *unstructured.Unstructured) {
	resource := resourceOf(definition)
	list, err := client.Resource(resource).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Error(err)
		return
	}
	for i := range list.Items {
		each := &list.Items[i]
		of := client.Resource(resource).Namespace(each.GetNamespace())
		_, err := of.Patch(c.ctx, each.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			c.t.Error(err)
		}
	}
	if err := client.Resource(crds).Delete(c.ctx, definition.GetName(), metav1.DeleteOptions{}); err != nil {
		c.t.Error(err)
	}
	c.eventually(definition.GetName()+" is gone", func() bool {
		_, err := client.Resource(crds).Get(c.ctx, definition.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// resourceOf returns the resource that a definition defines.
func resourceOf(definition *unstructured.Unstructured) schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return schema.GroupVersionResource{Group: group, Version: versions[0].(object)["name"].(string), Resource: plural}
}

// karpenterDefinitions returns the definitions of Karpenter's kinds, from the module that
// go/karpenter uses.
func (c *cluster) karpenterDefinitions() []*unstructured.Unstructured {
	c.t.Helper()
	download := exec.Command("go", "mod", "download", "-json", "sigs.k8s.io/karpenter")
	download.Dir = "../karpenter"
	output, err := download.Output()
	c.must(err)
	var module struct{ Dir string }
	c.must(json.Unmarshal(output, &module))
	var definitions []*unstructured.Unstructured
	for _, name := range []string{"karpenter.sh_nodeclaims.yaml", "karpenter.sh_nodepools.yaml"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, "pkg/apis/crds", name))
		c.must(err)
		definition := &unstructured.Unstructured{}
		c.must(yaml.Unmarshal(text, &definition.Object))
		definitions = append(definitions, definition)
	}
	return definitions
}

// definitionOf returns a definition of a namespaced kind that may have any fields, with status and
// scale.
func definitionOf(group, version, kind, plural string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": plural + "." + group},
		"spec": object{
			"group": group, "scope": "Namespaced", "names": object{"kind": kind, "plural": plural},
			"versions": []any{object{
				"name": version, "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}
