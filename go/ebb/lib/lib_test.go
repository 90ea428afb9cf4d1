package lib

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// Archive names the archive that is linked: Go would not notice a new archive without a new
// archive.h.
func TestArchiveIsTheOneThatIsHere(t *testing.T) {
	archive, err := os.ReadFile("libebb.a")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(archive)); got != Archive {
		t.Errorf("libebb.a is %s, archive.h says %s: run ./dev archive", got, Archive)
	}
}
