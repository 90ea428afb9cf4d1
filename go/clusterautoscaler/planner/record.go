package planner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"ebb/go/clusterautoscaler/message"
	"ebb/go/clusterautoscaler/wire"
)

// record writes a message.Record, and returns its path.
func (p *Planner) record(a *asking, node string, refusal error) (path string, err error) {
	m := message.Record{Node: node, Refusal: refusal.Error(), KubernetesVersion: "v" + p.meaning.version + ".0"}
	settings, err := message.SettingsOf(*p.configured)
	if err != nil {
		return "", err
	}
	if m.Settings, err = protojson.Marshal(settings); err != nil {
		return "", err
	}
	if m.Request, err = protojson.Marshal(message.CallOf(&a.question.request)); err != nil {
		return "", err
	}
	m.Cluster.APIVersion, m.Cluster.Kind = "v1", "List"
	add := func(kind *wire.Kind, object any) {
		if err != nil {
			return
		}
		var text []byte
		if text, err = json.Marshal(object); err == nil {
			// The types of the API have no kind of their own in the autoscaler.
			head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, kind.APIVersion, kind.Name)
			m.Cluster.Items = append(m.Cluster.Items, json.RawMessage(head+strings.TrimPrefix(string(text), "{")))
		}
	}
	for _, view := range a.views {
		add(wire.Node, view.Node)
		for _, pod := range view.Pods {
			placed := *pod
			placed.Spec.NodeName = view.Node.Name
			add(wire.Pod, &placed)
		}
	}
	for _, list := range p.lists() {
		for _, object := range list.Objects {
			add(list.Kind, object)
		}
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return "", err
	}
	path = filepath.Join(p.checks.recordFolder, fmt.Sprintf("ebb-mismatch-%d-%d.json", p.latestUpdate.Unix(), p.checks.mismatches))
	return path, os.WriteFile(path, text, 0o600)
}
