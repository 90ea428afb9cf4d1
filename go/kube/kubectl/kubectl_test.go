package kubectl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ebb/go/kube/feed"
)

// server serves lists as an API server does, two objects a page.
func server(t *testing.T, forbidden ...string) (kubernetes.Interface, string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := filepath.Base(r.URL.Path)
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2-eks-1"}`)
		case r.URL.Path == "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"karpenter.sh","versions":[{"groupVersion":"karpenter.sh/v1","version":"v1"}],"preferredVersion":{"groupVersion":"karpenter.sh/v1","version":"v1"}}]}`)
		case r.URL.Path == "/api/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"services","kind":"Service","namespaced":true,"verbs":["list"]},{"name":"secrets","kind":"Secret","namespaced":true,"verbs":["list"]}]}`)
		case r.URL.Path == "/apis/karpenter.sh/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"karpenter.sh/v1","resources":[{"name":"nodepools","kind":"NodePool","verbs":["list"]}]}`)
		case slices.Contains(forbidden, resource):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		case strings.HasPrefix(r.URL.Path, "/apis/resource.k8s.io"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case resource == "nodes" && r.URL.Query().Get("continue") == "":
			fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"more","remainingItemCount":1},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
		case resource == "nodes":
			fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"c"}}]}`)
		default:
			fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`)
		}
	}))
	t.Cleanup(s.Close)
	return kubernetes.NewForConfigOrDie(&rest.Config{Host: s.URL, QPS: -1}), s.URL
}

func TestADumpHoldsWholeListsAndNoPages(t *testing.T) {
	client, _ := server(t)
	dump, err := Dump(t.Context(), client, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Items []struct {
			Kind     string
			Metadata map[string]any
			Items    []any
		}
	}
	if err := json.Unmarshal(dump.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, list := range read.Items {
		kinds[list.Kind] = len(list.Items)
		if list.Metadata != nil {
			t.Errorf("%s has metadata %v", list.Kind, list.Metadata)
		}
	}
	budgets, found := kinds["PodDisruptionBudgetList"]
	if kinds["NodeList"] != 3 || !found || budgets != 0 || len(kinds) != 19 {
		t.Errorf("%v", kinds)
	}
}

func TestKindsThatTheUserMayNotListAreNamed(t *testing.T) {
	client, _ := server(t, "pods", "poddisruptionbudgets", "csinodes")
	var problems bytes.Buffer
	_, err := Dump(t.Context(), client, &problems)
	if err == nil || !strings.Contains(err.Error(), "poddisruptionbudgets, pods") || !strings.Contains(problems.String(), "csinodes") {
		t.Errorf("%v; %s", err, problems.String())
	}
}

// Symptom: `kubectl ebb plan` did not read NodePools, NodeClaims and Machines, so nodes whose
// machine is being deleted received pods.
func TestAPlanReadsTheOptionalKindsThatTheServerHas(t *testing.T) {
	client, _ := server(t, "nodepools")
	var problems bytes.Buffer
	dump, err := Dump(t.Context(), client, &problems)
	if err != nil || bytes.Contains(dump.Bytes(), []byte("NodePoolList")) || !strings.Contains(problems.String(), "may not list nodepools.karpenter.sh") {
		t.Errorf("%v; %s", err, problems.String())
	}
	client, _ = server(t)
	if dump, err = Dump(t.Context(), client, &problems); err != nil || !bytes.Contains(dump.Bytes(), []byte("NodePoolList")) {
		t.Errorf("%v", err)
	}
}

func TestADumpHasTheKindsThatTheUserMayRead(t *testing.T) {
	client, _ := server(t, "poddisruptionbudgets")
	path := filepath.Join(t.TempDir(), "cluster.json")
	var problems bytes.Buffer
	if err := WriteDump(t.Context(), client, path, nil, &problems); !errors.Is(err, ErrPartial) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(problems.String(), "poddisruptionbudgets could not be read") {
		t.Errorf("%s", problems.String())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"NodeList", "ServiceList", "NodePoolList"} {
		if !bytes.Contains(text, []byte(`"kind":"`+kind+`"`)) {
			t.Errorf("no %s", kind)
		}
	}
	for _, kind := range []string{"PodDisruptionBudgetList", "SecretList", "ConfigMapList", "NodeClaimList"} {
		if bytes.Contains(text, []byte(kind)) {
			t.Errorf("a %s", kind)
		}
	}
}

func TestNothingIsWrittenWithoutPods(t *testing.T) {
	client, _ := server(t, "pods")
	dir := t.TempDir()
	err := WriteDump(t.Context(), client, filepath.Join(dir, "cluster.json"), nil, &bytes.Buffer{})
	left, _ := os.ReadDir(dir)
	if err == nil || errors.Is(err, ErrPartial) || len(left) > 0 {
		t.Errorf("%v; %v", err, left)
	}
}

// The C++ code has the list of kinds; feeders and this package have a copy in Go.
func TestTheKindsEqualTheListInCpp(t *testing.T) {
	text, err := os.ReadFile("../../../snapshot/import/dump_kinds.cc")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{"kStorage": "storage.k8s.io", "kDevices": "resource.k8s.io"}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^    \{"(\w+)", ("?)([\w.-]*)"?, "(\w+)",`).FindAllStringSubmatch(string(text), -1) {
		group := row[3]
		if row[2] == "" {
			group = groups[group]
		}
		listed[row[1]+" "+row[4]+"."+group] = true
	}
	ours := map[string]bool{}
	for _, kind := range feed.Kinds {
		ours[kind.Kind+" "+kind.Resource+"."+kind.Group()] = true
	}
	if len(listed) < 20 || !maps.Equal(listed, ours) {
		t.Errorf("the list in C++ has\n%v\nand Go\n%v", listed, ours)
	}
}

func TestEbbRunsOverTheDumpAndItsExitCodeIsReturned(t *testing.T) {
	_, url := server(t)
	dir := t.TempDir()
	config, ebb := filepath.Join(dir, "config"), filepath.Join(dir, "ebb")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: x}}]\nclusters: [{name: x, cluster: {server: \"" + url + "\"}}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ebb, []byte("#!/bin/sh\necho \"$@\"\ngrep -c '\"kind\":\"NodeList'\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Main(t.Context(), []string{"--kubeconfig", config, "explain", "--ebb=" + ebb, "a", "b", "-o", "json"}, &out, &out)
	exit, ok := err.(*ExitError)
	if !ok || exit.Code != 7 || out.String() != "plan - --explain a --explain b -o json --kubernetes-version=1.37\n1\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestAVersionThatTheUserNamesIsTheOnlyOne(t *testing.T) {
	for _, args := range [][]string{{"--kubernetes-version", "1.36"}, {"--kubernetes-version=1.36"}} {
		if !slices.ContainsFunc(args, namesVersion) {
			t.Errorf("%v", args)
		}
	}
	if slices.ContainsFunc([]string{"-o", "json"}, namesVersion) {
		t.Error("no version is named")
	}
}

func TestArgumentsThatMakeNoCallAreRefused(t *testing.T) {
	for _, args := range [][]string{{"no"}, {"plan", "--context"}} {
		if err := Main(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	a, err := read([]string{"explain", "-o", "json"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.ebbArguments(); err == nil {
		t.Error("explain of no node was taken")
	}
	var help bytes.Buffer
	if err := Main(t.Context(), nil, &help, &help); err != nil || !strings.Contains(help.String(), "kubectl ebb plan") {
		t.Errorf("%v", err)
	}
}
