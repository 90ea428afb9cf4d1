package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ebb/go/kube/drain"
	"ebb/go/kube/provider"
	"ebb/go/kube/provider/karpenter"
)

func TestTheFlagsDefaultsAreTheAutoscalers(t *testing.T) {
	f, err := parse([]string{"--provider", "node-object"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	want := drain.DefaultOptions()
	got := o.Drain
	if got.Rules != want.Rules || got.MaxGrace != want.MaxGrace || got.MaxEvictionTime != want.MaxEvictionTime ||
		got.DelayDeletion != want.DelayDeletion || got.EvictDaemonSetsOfOccupied != want.EvictDaemonSetsOfOccupied || !o.Cordon || o.Lease != "ebb" {
		t.Errorf("%+v", o)
	}
}

func TestFlagsSetTheirOptions(t *testing.T) {
	f, err := parse([]string{
		"--provider=exec", "--exec=/bin/delete", "--exec=--now", "--exec-grow=/bin/grow", "--exec-grow=-v", "--leader-elect=false", "--write-status-configmap=false",
		"--drain-priority-config=0:10,100:60", "--min-replica-count=2", "--node-deletion-batcher-interval=3s",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	commands := o.Provider.(*provider.Exec)
	if strings.Join(commands.Command, " ") != "/bin/delete --now" || strings.Join(commands.GrowCommand, " ") != "/bin/grow -v" || o.Lease != "" || o.StatusConfigMap != "" ||
		len(o.Drain.Groups) != 2 || o.Drain.Rules.MinReplicaCount != 2 || o.Actuate.BatchInterval != 3*time.Second {
		t.Errorf("%+v", o)
	}
}

func TestFlagsThatDoNotFitAreRefused(t *testing.T) {
	for _, args := range []string{
		"", "--provider=unknown", "--provider=node-object --karpenter-drains", "--provider=node-object --karpenter-buys", "--provider=exec", "--provider=exec --exec-grow=/bin/grow", "--provider=node-object --exec-grow=/bin/grow", "--provider=externalgrpc", "--feed-only",
		"--provider=node-object --drain-priority-config=x", "--provider=node-object --drain-priority-config=1:2 --max-graceful-termination-sec=5",
	} {
		f, err := parse(strings.Fields(args), io.Discard)
		if err == nil {
			_, err = f.options()
		}
		if err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	if _, err := parse([]string{"word"}, io.Discard); err == nil {
		t.Error("a word that is not a flag was taken")
	}
}

func TestTheProvidersOfClustersAreChosen(t *testing.T) {
	for args, want := range map[string]string{
		"--provider=karpenter": "karpenter", "--provider=karpenter --karpenter-drains": "karpenter, and it drains", "--provider=karpenter --karpenter-buys": "karpenter, and ebb buys", "--provider=cluster-api": "cluster-api",
	} {
		f, err := parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		o, err := f.options()
		if err != nil {
			t.Fatal(err)
		}
		got := o.Provider.Name()
		if own, ok := o.Provider.(*karpenter.Provider); ok && own.Drains {
			got += ", and it drains"
		}
		if own, ok := o.Provider.(*karpenter.Provider); ok && own.Buys {
			got += ", and ebb buys"
		}
		if got != want || len(o.Needs().Provider) == 0 {
			t.Errorf("%s: %s, %v", args, got, o.Needs().Provider)
		}
	}
}

func TestFoldersArePrivateToThisUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "private")
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"--make-folder", path}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}
