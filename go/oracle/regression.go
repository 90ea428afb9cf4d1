package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Regression is a case about which ebb once disagreed: the symptom, the smallest request that
// showed it, and kube-scheduler's answer.
type Regression struct {
	Symptom  string    `json:"symptom"`
	Request  *Request  `json:"request"`
	Response *Response `json:"response"`
}

const regressionFolder = "testdata/regressions"

// isOfThisScheduler reports whether the recorded answer is of the version that this program is
// built with.
func (r *Regression) isOfThisScheduler() bool {
	return cmp.Or(r.Request.Kubernetes, "1.36") == kubernetesVersion
}

var notInFileNames = regexp.MustCompile(`[^a-z0-9]+`)

// Save writes the case into a folder, under a name made from the disagreement's signature, and
// returns the path.
func (r *Regression) Save(folder, signature string) (string, error) {
	hash := fnv.New32a()
	hash.Write([]byte(signature))
	slug := strings.Trim(notInFileNames.ReplaceAllString(strings.ToLower(signature), "-"), "-")
	slug = strings.TrimRight(slug[:min(len(slug), 60)], "-")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-%08x.json", slug, hash.Sum32()))
	return path, r.write(path)
}

func (r *Regression) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// LoadRegression reads a case.
func LoadRegression(path string) (*Regression, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	regression := &Regression{}
	if err := json.Unmarshal(text, regression); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return regression, nil
}
