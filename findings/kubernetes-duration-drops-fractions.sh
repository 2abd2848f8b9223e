#!/bin/bash
# kube-openapi of Kubernetes 1.37: in a field with `format: duration` of a custom resource, "1.5 hours" is valid and is read as five hours.
#
# Guess before it was run: "1.5 days" is 36 hours, as "1.5h" is 90 minutes, or it is refused; so is a duration of ISO 8601, which JSON Schema means by that format.
# Seen: where Go's ParseDuration fails, the library adds up all whole numbers with a unit that it knows, and skips the rest of the text. "1.5 hours" is 5h, "0.5 days" 120h, "-1 day" 24h,
# and "P1DT2H", a day and two hours, is 2h. All are valid. A rule of CEL, for which such a field is a duration, compares that value: `self.every < duration('3h')`.
# Only what Go's ParseDuration takes ("1h30m"), and whole numbers ("3 days 4 hours"), mean what they say.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.0.0-20260721132016-d427ff9ee9ad
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'GO'
package main

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

func main() {
	for _, text := range []string{"1.5h", "1.5 hours", "0.5 days", "-1 day", "P1DT2H", "3 days 4 hours", "soon"} {
		value, err := strfmt.ParseDuration(text)
		fmt.Printf("%s: %v %t; ", text, value, err == nil && strfmt.IsDuration(text))
	}
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "k8s.io/kube-openapi/pkg/validation/strfmt@$VERSION" && go build -o ask .; } 2> build || { cat build; exit 1; }
seen=$(./ask)
echo "kube-openapi $VERSION, text: value, whether valid: $seen"
[ "$seen" = '1.5h: 1h30m0s true; 1.5 hours: 5h0m0s true; 0.5 days: 120h0m0s true; -1 day: 24h0m0s true; P1DT2H: 2h0m0s true; 3 days 4 hours: 76h0m0s true; soon: 0s false; ' ]
