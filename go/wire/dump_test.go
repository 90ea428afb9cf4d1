package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// dumper is a running wire_dump.
type dumper struct {
	in  *bufio.Writer
	out *bufio.Reader
}

func startDumper(t *testing.T) *dumper {
	t.Helper()
	ebb := os.Getenv("EBB")
	if ebb == "" {
		ebb = "../../build/release/ebb"
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(ebb), "wire_dump"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v; build it with `ninja wire_dump`", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("wire_dump: %v", err)
		}
	})
	return &dumper{in: bufio.NewWriter(in), out: bufio.NewReader(out)}
}

// dump returns what ebb reads from an object; form is 'J' or 'P'.
func (d *dumper) dump(t *testing.T, form byte, apiVersion, kind string, object []byte) string {
	t.Helper()
	d.in.WriteByte(form)
	for _, text := range [][]byte{[]byte(apiVersion), []byte(kind), object} {
		d.in.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
		d.in.Write(text)
	}
	if err := d.in.Flush(); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(d.out, size[:]); err != nil {
		t.Fatalf("wire_dump ended on this object: %v\n%q", err, object)
	}
	answer := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(d.out, answer); err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
