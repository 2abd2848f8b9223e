#!/bin/bash
# serde_yaml 0.9.34 (crates.io): the texts "yes", "on" and "1_000" are written without quotes; to kubectl they are true, true and 1000.
#
# Guess before it was run: a writer of YAML quotes each text that a reader could take for another type, so kubectl takes a ConfigMap that a program in Rust writes.
# Seen: "true", "017" and "1e3" are quoted, for YAML 1.2 would change them; "yes", "on", "y", "1_000" and "0_7" are not. sigs.k8s.io/yaml 1.6.0, with which kubectl,
# Helm and Argo CD read, makes booleans and numbers of them: in `data` of a ConfigMap, which takes texts, they are refused, and a chart gets another value. In JSON, which all of
# them take, each text is in quotes.
# Needs Rust, crates.io, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
RUST=0.9.34 YAML=v1.6.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p src
printf '[package]\nname = "write"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nserde_yaml = "=%s"\n' "$RUST" > Cargo.toml
cat > src/main.rs << 'RUST'
fn main() {
    print!("{}", serde_yaml::to_string(&["yes", "on", "y", "1_000", "0_7", "true", "017", "1e3"]).unwrap());
}
RUST
cargo build --quiet 2> build || { cat build; exit 1; }
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	text, _ := os.ReadFile("texts.yaml")
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(json))
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "sigs.k8s.io/yaml@$YAML" && go build -o read .; } 2> build || { cat build; exit 1; }
target/debug/write > texts.yaml
read=$(./read)
echo "serde_yaml $RUST, read by sigs.k8s.io/yaml $YAML: $read"
[ "$read" = '[true,true,true,1000,7,"true","017","1e3"]' ]
