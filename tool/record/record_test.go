package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPassesOn: order, unknown keys, large numbers and nested unknown keys stay.
func TestPassesOn(t *testing.T) {
	const in = `{"zebra":1,"store":{"name":"a","future":[1,2]},"n":12345678901234567890,"null":null}`
	rec, err := Read(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Set("store", map[string]string{"name": "b"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := rec.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(in, `"a"`, `"b"`, 1) + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

func TestReadNeedsARecord(t *testing.T) {
	for _, in := range []string{"", " \n", "[1]", "7", `"x"`, "null", "{", `{"a":}`, "{}x"} {
		rec, err := Read(strings.NewReader(in))
		if in == "{}x" {
			if err != nil {
				t.Errorf("%q: %v", in, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%q: %v, want an error", in, rec)
		}
	}
	if _, err := Read(strings.NewReader("")); !errors.Is(err, io.EOF) {
		t.Errorf("end of file: %v", err)
	}
}

func TestGetNamesWhatIsMissing(t *testing.T) {
	var s Store
	if err := New().Get("store", &s); err == nil || !strings.Contains(err.Error(), `"store"`) {
		t.Errorf("error %v does not name the key", err)
	}
}

func TestReadAll(t *testing.T) {
	list, err := ReadAll(strings.NewReader("{\"a\":1}\n{\"a\":2}\n"))
	if err != nil || len(list) != 2 {
		t.Errorf("%d records, %v", len(list), err)
	}
	if list, err := ReadAll(strings.NewReader("")); err != nil || list == nil || len(list) != 0 {
		t.Errorf("nothing: %v, %v; want an empty list", list, err)
	}
	if _, err := ReadAll(strings.NewReader("{}\n{")); err == nil {
		t.Error("half a record is no error")
	}
}

func TestWithout(t *testing.T) {
	rec, err := Read(strings.NewReader(`{"a":1,"b":2,"c":3}`))
	if err != nil {
		t.Fatal(err)
	}
	rest := rec.Without("b").Without("nothing")
	if err := rest.Set("d", 4); err != nil {
		t.Fatal(err)
	}
	for want, rec := range map[string]*Record{`{"a":1,"c":3,"d":4}`: rest, `{"a":1,"b":2,"c":3}`: rec} {
		if got, err := json.Marshal(rec); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

func TestInputEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	r, w := io.Pipe()
	defer w.Close()
	if _, err := Input(ctx, r, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := InputAll(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list: got %v", err)
	}
}

func FuzzRecord(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":{"b":1}}`, `{"a":1,"a":2}`, `[`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := rec.Set("store", Store{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := rec.Write(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q is not one line", out.String())
		}
		again, err := Read(&out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		var s Store
		if err := again.Get("store", &s); err != nil || s.Name != "x" {
			t.Errorf("store lost: %v %v", s, err)
		}
	})
}

func TestHunk(t *testing.T) {
	in := Change{Hunks: []Hunk{{3, 1, 3, 2}, {9, 0, 10, 4}}}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`"hunks":[[3,1,3,2],[9,0,10,4]]`)) {
		t.Errorf("hunks are written as %s", text)
	}
	var out Change
	if err := json.Unmarshal(text, &out); err != nil || !slices.Equal(out.Hunks, in.Hunks) {
		t.Errorf("read back: %v, %v", out.Hunks, err)
	}
	for _, bad := range []string{`[1,2,3]`, `[1,2,3,4,5]`, `[1,2,3,-4]`, `{}`, `[1,2,3,1e99]`} {
		if json.Unmarshal([]byte(bad), new(Hunk)) == nil {
			t.Errorf("%s is taken for a hunk", bad)
		}
	}
}

// A field that is left out because it is empty does not come back from the old
// value, also one of a struct that is embedded.
func TestSetKnowsEmbeddedFields(t *testing.T) {
	rec, err := Read(strings.NewReader(`{"checkpoint":{"agent":"x","extra":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Set("checkpoint", Checkpoint{Version: 2}); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(rec)
	if bytes.Contains(text, []byte(`"agent"`)) || !bytes.Contains(text, []byte(`"extra":1`)) {
		t.Errorf("have %s", text)
	}
}
