package kubectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server answers as an API server does, a page of two at a time.
func server(t *testing.T, forbidden ...string) (kubernetes.Interface, string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := filepath.Base(r.URL.Path)
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"36"}`)
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
	if kinds["NodeList"] != 3 || !found || budgets != 0 || len(kinds) != 16 {
		t.Errorf("%v", kinds)
	}
}

func TestWhatTheUserMayNotListIsNamed(t *testing.T) {
	client, _ := server(t, "pods", "poddisruptionbudgets", "csinodes")
	var problems bytes.Buffer
	_, err := Dump(t.Context(), client, &problems)
	if err == nil || !strings.Contains(err.Error(), "poddisruptionbudgets, pods") || !strings.Contains(problems.String(), "csinodes") {
		t.Errorf("%v; %s", err, problems.String())
	}
}

func TestEbbIsRunOverTheDumpAndItsExitCodeIsTheCalls(t *testing.T) {
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
	if !ok || exit.Code != 7 || out.String() != "plan - --explain a --explain b -o json\n1\n" {
		t.Errorf("%v: %q", err, out.String())
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
