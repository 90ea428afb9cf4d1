package main

import (
	"bytes"
	"strings"
	"testing"
)

const dump = `{"kind":"List","apiVersion":"v1","items":[
	{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"1","labels":{"pool":"p"}},"status":{
		"allocatable":{"cpu":"2","memory":"2Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}},
	{"kind":"Node","apiVersion":"v1","metadata":{"name":"n2","uid":"2","labels":{"pool":"p"}},"status":{
		"allocatable":{"cpu":"2","memory":"2Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}},
	{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"web","name":"cart","uid":"3"},"spec":{"nodeName":"n2",
		"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]},"status":{"phase":"Running"}}]}`

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(dump), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "n1\n" {
		t.Errorf("%q", out.String())
	}
	if err := run(strings.NewReader("garbage"), &out); err == nil {
		t.Error("garbage is taken")
	}
}
