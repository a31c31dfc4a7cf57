package bundle

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// testImage is a sparse file with data at awkward places.
func testImage(t *testing.T, size int64, seed uint64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range 24 {
		at := r.Int64N(size)
		p := bytes.Repeat([]byte{byte(r.IntN(3))}, r.IntN(100_000)) // one in three: zeros
		if _, err := f.WriteAt(p[:min(int64(len(p)), size-at)], at); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestImageRoundTrip(t *testing.T) {
	for seed, info := range []Info{
		{BandSize: 4096, Size: 1 << 20},
		{BandSize: 64 << 10, Size: 3<<20 + 512},
		{BandSize: 1 << 20, Size: 5<<20 + 8192},
		{BandSize: 12288, Size: 2<<20 + 4096}, // chunks end within bands
		{BandSize: 8 << 20, Size: 2 << 20},
	} {
		image := testImage(t, info.Size, uint64(seed))
		want, err := os.ReadFile(image.Name())
		if err != nil {
			t.Fatal(err)
		}
		b := newBundle(t, info)
		if err := FromImage(b.Path, image, info); err != nil {
			t.Fatal(err)
		}
		checkBands(t, b, want)
		checkReader(t, b, want)
		checkToImage(t, b, want)
	}
}

// checkBands wants each band to be there exactly if it has data, and to end with
// its last block of data.
func checkBands(t *testing.T, b *Bundle, want []byte) {
	t.Helper()
	for i := range b.Info.Bands() {
		lo := i * b.Info.BandSize
		data := want[lo:min(lo+b.Info.BandSize, b.Info.Size)]
		used := int64(len(bytes.TrimRight(data, "\x00")))
		used = min((used+block-1)/block*block, int64(len(data)))
		st, err := os.Stat(b.BandPath(i))
		if used == 0 && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("band %s of zeros exists: %v", BandName(i), err)
		}
		if used > 0 && (err != nil || st.Size() != used || st.Mode() != fileMode) {
			t.Errorf("band %s: %v, %v, want %d bytes", BandName(i), st, err, used)
		}
	}
}

func checkReader(t *testing.T, b *Bundle, want []byte) {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(b.Reader(), 0, b.Info.Size))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%+v: the reader gives other bytes, %v", b.Info, err)
	}
	p := make([]byte, 1000)
	if n, err := b.Reader().ReadAt(p, b.Info.Size-10); n != 10 || err != io.EOF {
		t.Errorf("read over the end: %d, %v", n, err)
	}
	if n, err := b.Reader().ReadAt(p, b.Info.Size+10); n != 0 || err != io.EOF {
		t.Errorf("read behind the end: %d, %v", n, err)
	}
}

func checkToImage(t *testing.T, b *Bundle, want []byte) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := b.ToImage(f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%+v: ToImage gives other bytes, %v", b.Info, err)
	}
}

// TestForeignBands reads what others write: bands longer than the band size, and
// bands behind the image's end.
func TestForeignBands(t *testing.T) {
	b := newBundle(t, Info{BandSize: 4096, Size: 10240})
	writeTestFile(t, b.BandPath(0), bytes.Repeat([]byte{1}, 5000))
	writeTestFile(t, b.BandPath(2), bytes.Repeat([]byte{2}, 4096))
	writeTestFile(t, b.BandPath(3), bytes.Repeat([]byte{3}, 4096))
	want := make([]byte, 10240)
	copy(want, bytes.Repeat([]byte{1}, 4096))
	copy(want[8192:], bytes.Repeat([]byte{2}, 2048))
	checkReader(t, b, want)
	checkToImage(t, b, want)
}

func TestFromImageRefuses(t *testing.T) {
	info := Info{BandSize: 4096, Size: 8192}
	b := newBundle(t, info)
	checkError(t, FromImage(b.Path, testImage(t, 16384, 1), info), "more than 8192")

	image := testImage(t, 8192, 1)
	if _, err := image.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, b.BandPath(0), nil)
	checkError(t, FromImage(b.Path, image, info), "file exists")
}
