package lib

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// What Archive names is what is linked: an archive without its archive.h would not be noticed.
func TestArchiveIsTheOneThatIsHere(t *testing.T) {
	archive, err := os.ReadFile("libebb.a")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(archive)); got != Archive {
		t.Errorf("libebb.a is %s, archive.h says %s: run ./dev archive", got, Archive)
	}
}
