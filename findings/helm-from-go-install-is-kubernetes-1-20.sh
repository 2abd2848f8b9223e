#!/bin/bash
# Helm 3.22.0 of `go install`: `helm template` renders for Kubernetes v1.20.0, so that a chart with a current `kubeVersion` is refused.
#
# Guess before it was run: a helm of the same version behaves the same however it was built; without a cluster it renders for the Kubernetes
# version of the client-go that it was built with (1.36 for this release).
# Seen: the version of Kubernetes is set by the linker flags of Helm's Makefile. A binary of `go install` has the fallback of the source,
# v1.20.0: a chart with `kubeVersion: '>=1.32.0-0'` is refused ("chart requires kubeVersion ... which is incompatible with Kubernetes
# v1.20.0"), and `.Capabilities.KubeVersion` in templates takes the branches for a cluster of 2020. `--kube-version` sets it.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.22.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install "helm.sh/helm/v3/cmd/helm@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
mkdir -p "$work/chart/templates"
cat > "$work/chart/Chart.yaml" <<'CHART'
apiVersion: v2
name: shown
version: 0.1.0
CHART
echo 'shown: {{ .Capabilities.KubeVersion.Version }}' > "$work/chart/templates/shown.yaml"
shown=$("$work/bin/helm" template x "$work/chart" | sed -n 's/^shown: //p')
told=$("$work/bin/helm" template x "$work/chart" --kube-version 1.35.4 | sed -n 's/^shown: //p')
echo "kubeVersion: '>=1.32.0-0'" >> "$work/chart/Chart.yaml"
refusal=$("$work/bin/helm" template x "$work/chart" 2>&1 > /dev/null) && refusal=none
echo "helm $VERSION of go install: renders for $shown, with --kube-version 1.35.4 for $told; a chart for 1.32 and newer: $refusal"
[ "$shown" = v1.20.0 ] && [ "$told" = v1.35.4 ] && [[ $refusal == *'incompatible with Kubernetes v1.20.0'* ]]
