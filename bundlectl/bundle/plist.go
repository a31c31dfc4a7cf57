package bundle

import (
	"bytes"
	"errors"
	"fmt"

	"howett.net/plist"
)

var errNoPlist = errors.New("not a property list")

// DecodePlist decodes a property list, XML or binary, into v.
//
// The library also takes the older text format, in which nearly any text is a
// string: that is refused, so that garbage is called garbage. It panics on some
// malformed input: that becomes an error.
func DecodePlist(data []byte, v any) (err error) {
	data = bytes.TrimLeft(data, "\ufeff \t\r\n")
	if !bytes.HasPrefix(data, []byte("<")) && !bytes.HasPrefix(data, []byte("bplist")) {
		return errNoPlist
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errNoPlist, r)
		}
	}()
	format, err := plist.Unmarshal(data, v)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoPlist, err)
	}
	if format != plist.XMLFormat && format != plist.BinaryFormat {
		return errNoPlist
	}
	return nil
}
