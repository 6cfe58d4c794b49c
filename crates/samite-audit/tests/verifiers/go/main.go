// Verifies a log in a folder with Go's golang.org/x/mod/sumdb packages note and tlog alone: the signed tree head, every tile, and
// every entry. Usage: sumdb-verify FOLDER VERIFIER-KEY
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// tiles reads the tiles of a folder. What the package calls tile/8/L and data, the folder calls tile/L and entries.
type tiles struct{ folder string }

func (t tiles) Height() int                             { return 8 }
func (t tiles) SaveTiles(_ []tlog.Tile, _ [][]byte)     {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(wanted))
	for i, tile := range wanted {
		bytes, err := os.ReadFile(t.path(tile))
		if err != nil {
			return nil, err
		}
		read[i] = bytes
	}
	return read, nil
}

func (t tiles) path(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
	return filepath.Join(t.folder, strings.Replace(path, "tile/data/", "tile/entries/", 1))
}

func verify(folder, key string) (int64, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return 0, err
	}
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	if err != nil {
		return 0, err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return 0, err
	}
	// The package's own text of a tree head begins with other words than a log's name.
	lines := strings.SplitN(opened.Text, "\n", 2)
	if lines[0] != verifier.Name() {
		return 0, fmt.Errorf("the tree head is that of %q", lines[0])
	}
	tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + lines[1]))
	if err != nil {
		return 0, err
	}
	source := tiles{folder}
	indexes := make([]int64, tree.N)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, int64(i))
	}
	// This authenticates every tile that it reads against the tree head: all of them.
	hashes, err := tlog.TileHashReader(tree, source).ReadHashes(indexes)
	if err != nil {
		return 0, err
	}
	for first := int64(0); first < tree.N; first += 256 {
		tile := tlog.Tile{H: 8, L: -1, N: first / 256, W: 256}
		if tree.N-first < 256 {
			tile.W = int(tree.N - first)
		}
		bundle, err := os.ReadFile(source.path(tile))
		if err != nil {
			return 0, err
		}
		for i := 0; i < tile.W; i++ {
			if len(bundle) < 2 || len(bundle) < 2+int(binary.BigEndian.Uint16(bundle)) {
				return 0, fmt.Errorf("%s is cut off", tile.Path())
			}
			length := 2 + int(binary.BigEndian.Uint16(bundle))
			index := first + int64(i)
			if tlog.RecordHash(bundle[2:length]) != hashes[index] {
				return 0, fmt.Errorf("entry %d was changed", index)
			}
			bundle = bundle[length:]
		}
		if len(bundle) != 0 {
			return 0, fmt.Errorf("%s is too long", tile.Path())
		}
	}
	return tree.N, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sumdb-verify FOLDER VERIFIER-KEY")
		os.Exit(2)
	}
	size, err := verify(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(size)
}
