#!/bin/bash
# kubernetes 37.0.2 (PyPI): a Lease whose time has no microseconds is written in a form that Kubernetes (apimachinery 0.37.2) refuses: one of a million renewals fails.
#
# Guess before it was run: the API reads what its official client writes for each `datetime` in UTC, whatever its microseconds are; RFC 3339 allows a time without a fraction.
# That MicroTime refuses a time without a fraction was known before; what the client writes was not.
# Seen: `renew_time` of 19:00:00.000001 is "2026-11-30T19:00:00.000001+00:00", and of 19:00:00.000000 it is "2026-11-30T19:00:00+00:00". MicroTime in Go takes the first; of the second it says
# 'cannot parse "+00:00" as ".000000"'. A time that a program cuts to whole seconds always fails; `datetime.now(timezone.utc)` does so once in a while.
# Needs Python 3 with venv, PyPI, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
PYTHON=37.0.2 GO=v0.37.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "kubernetes==$PYTHON"
cat > main.go << 'PROGRAM'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	coordination "k8s.io/api/coordination/v1"
)

func main() {
	var lease coordination.Lease
	if err := json.NewDecoder(os.Stdin).Decode(&lease); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lease.Spec.RenewTime.UTC())
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.26.0\n' > go.mod
{ go get "k8s.io/api@$GO" "k8s.io/apimachinery@$GO" && go mod tidy && go build -o read .; } 2> build || { cat build; exit 1; }
write() { own/bin/python -c '
import datetime, json, sys
from kubernetes import client
time = datetime.datetime(2026, 11, 30, 19, 0, 0, int(sys.argv[1]), tzinfo=datetime.timezone.utc)
print(json.dumps(client.ApiClient().sanitize_for_serialization(client.V1Lease(spec=client.V1LeaseSpec(renew_time=time)))))' "$1"; }
one=$(write 1 | ./read) none=$(write 0 | ./read)
printf 'client %s: %s, %s\nread by Go %s: %s\n%s\n' "$PYTHON" "$(write 1)" "$(write 0)" "$GO" "$one" "$none"
[ "$one" = '2026-11-30 19:00:00.000001 +0000 UTC' ] && [[ $none == *'cannot parse "+00:00" as ".000000"'* ]]
