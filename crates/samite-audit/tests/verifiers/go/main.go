// Verifies a log in a folder with Go's golang.org/x/mod/sumdb packages note and tlog alone: the signed tree head, every tile, and
// every entry.
//
//	sumdb-verify FOLDER VERIFIER-KEY
//	sumdb-verify -from INDEX FOLDER VERIFIER-KEY   (of a log that was pruned up to this multiple of 256)
//	sumdb-verify FILE.tlog-proof VERIFIER-KEY ENTRY-FILE
//	sumdb-verify OLDER-TREE-HEAD VERIFIER-KEY NEWER-TREE-HEAD PROOF-FILE
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// open verifies a signed tree head.
func open(signed []byte, key string) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	// The package's own text of a tree head begins with other words than a log's name.
	lines := strings.SplitN(opened.Text, "\n", 2)
	if lines[0] != verifier.Name() {
		return tlog.Tree{}, fmt.Errorf("the tree head is that of %q", lines[0])
	}
	return tlog.ParseTree([]byte("go.sum database tree\n" + lines[1]))
}

func parseHashes(lines []string) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(lines))
	for i, line := range lines {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, err
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// verifyProof verifies that a log has an entry.
func verifyProof(file, key, entryFile string) (int64, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	entry, err := os.ReadFile(entryFile)
	if err != nil {
		return 0, err
	}
	proof, signed, found := strings.Cut(string(bytes), "\n\n")
	lines := strings.Split(proof, "\n")
	if !found || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, fmt.Errorf("this is no proof")
	}
	lines = lines[1:]
	if strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil {
		return 0, err
	}
	hashes, err := parseHashes(lines[1:])
	if err != nil {
		return 0, err
	}
	tree, err := open([]byte(signed), key)
	if err != nil {
		return 0, err
	}
	return tree.N, tlog.CheckRecord(hashes, tree.N, tree.Hash, index, tlog.RecordHash(entry))
}

// verifyContinues verifies that a tree continues an older one.
func verifyContinues(older, key, newer, proofFile string) (int64, error) {
	trees := make([]tlog.Tree, 2)
	for i, file := range []string{older, newer} {
		signed, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if trees[i], err = open(signed, key); err != nil {
			return 0, err
		}
	}
	proof, err := os.ReadFile(proofFile)
	if err != nil {
		return 0, err
	}
	hashes, err := parseHashes(strings.Fields(string(proof)))
	if err != nil {
		return 0, err
	}
	return trees[1].N, tlog.CheckTree(hashes, trees[1].N, trees[1].Hash, trees[0].N, trees[0].Hash)
}

func verify(folder, key string, minimum int64) (int64, error) {
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	if err != nil {
		return 0, err
	}
	tree, err := open(signed, key)
	if err != nil {
		return 0, err
	}
	source := tiles{folder}
	if minimum > tree.N || minimum%256 != 0 {
		return 0, fmt.Errorf("the log cannot begin at %d", minimum)
	}
	indexes := make([]int64, tree.N-minimum)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, minimum+int64(i))
	}
	// This authenticates every tile that it reads against the tree head: all of them that have these.
	hashes, err := tlog.TileHashReader(tree, source).ReadHashes(indexes)
	if err != nil {
		return 0, err
	}
	for first := minimum; first < tree.N; first += 256 {
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
			if tlog.RecordHash(bundle[2:length]) != hashes[index-minimum] {
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
	var size int64
	var err error
	arguments, minimum := os.Args[1:], int64(0)
	if len(arguments) == 4 && arguments[0] == "-from" {
		minimum, err = strconv.ParseInt(arguments[1], 10, 64)
		arguments = arguments[2:]
	}
	switch {
	case err != nil:
	case len(arguments) == 2:
		size, err = verify(arguments[0], arguments[1], minimum)
	case len(arguments) == 3:
		size, err = verifyProof(arguments[0], arguments[1], arguments[2])
	case len(arguments) == 4:
		size, err = verifyContinues(arguments[0], arguments[1], arguments[2], arguments[3])
	default:
		err = fmt.Errorf("usage: sumdb-verify FOLDER VERIFIER-KEY [...]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(size)
}
