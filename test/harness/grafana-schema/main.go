// Checks dashboards against Grafana's own schema, as its SDK for dashboards as code has it: unknown and missing fields, types, bounds.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// The SDK returns an empty list as an error when it found nothing.
func found(err error) bool { return err != nil && err.Error() != "" }

func check(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var read dashboard.Dashboard
	if err := read.UnmarshalJSONStrict(raw); found(err) {
		return err
	}
	return read.Validate()
}

func main() {
	code := 0
	for _, file := range os.Args[1:] {
		if err := check(file); found(err) {
			fmt.Printf("%s: %v\n", file, err)
			code = 1
		}
	}
	os.Exit(code)
}
