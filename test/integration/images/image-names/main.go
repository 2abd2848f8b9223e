// Reads names of images with the real distribution/reference, as the oracle of our own reader.
// Reads a JSON string a line and writes {"host", "path", "full"} or {"error"} a line; with a folder as argument it writes every
// string literal of the Go tests in it instead.
package main

import (
	"bufio"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"

	"github.com/distribution/reference"
)

type response struct {
	Host  string `json:"host,omitempty"`
	Path  string `json:"path,omitempty"`
	Full  string `json:"full,omitempty"`
	Error string `json:"error,omitempty"`
}

func read(name string) response {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return response{Error: err.Error()}
	}
	full, err := reference.ParseDockerRef(name)
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Host: reference.Domain(named), Path: reference.Path(named), Full: full.String()}
}

func texts(folder string) []string {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		panic(err)
	}
	var found []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			panic(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					found = append(found, text)
				}
			}
			return true
		})
	}
	return found
}

func main() {
	output := json.NewEncoder(os.Stdout)
	if len(os.Args) > 1 {
		if err := output.Encode(texts(os.Args[1])); err != nil {
			panic(err)
		}
		return
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		var name string
		if err := json.Unmarshal(input.Bytes(), &name); err != nil {
			panic(err)
		}
		if err := output.Encode(read(name)); err != nil {
			panic(err)
		}
	}
}
