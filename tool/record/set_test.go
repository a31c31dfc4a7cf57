package record

import (
	"bytes"
	"strings"
	"testing"
)

// A field that the new value leaves out because it is empty must not survive
// from the old one; a field that the type does not know must.
func TestSetDropsEmptiedFields(t *testing.T) {
	rec, err := Read(strings.NewReader(`{"store":{"id":"1","mounted_at":"2026-01-27T10:32:15Z","color":"red"},"x":[1, 2]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Set("store", &Store{ID: "2"}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rec.Write(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.Contains(got, "mounted_at") {
		t.Errorf("an emptied field came back: %s", got)
	}
	for _, want := range []string{`"id":"2"`, `"color":"red"`, `"x":[1,2]`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
