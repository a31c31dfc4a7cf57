package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// repack writes the bytes of all files below from into n files of equal size.
func repack(from, to string, n int) error {
	files, total, err := regular(from)
	if err != nil {
		return err
	}
	w := &splitter{dir: to, each: total/int64(n) + 1}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return w.close()
}

func regular(dir string) (files []string, total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files, total = append(files, path), total+info.Size()
		}
		return err
	})
	return files, total, err
}

// splitter is a writer that begins a new file whenever one is full.
type splitter struct {
	dir   string
	each  int64
	count int
	room  int64
	file  *os.File
}

func (s *splitter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if s.room == 0 {
			if err := s.next(); err != nil {
				return n, err
			}
		}
		m, err := s.file.Write(p[n:min(len(p), n+int(s.room))])
		n, s.room = n+m, s.room-int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *splitter) next() error {
	if err := s.close(); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, fmt.Sprintf("part%d", s.count/50))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	s.file, err = os.Create(filepath.Join(dir, fmt.Sprintf("file%d.dat", s.count)))
	s.count, s.room = s.count+1, s.each
	return err
}

func (s *splitter) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
