#!/bin/bash
# kustomize 5.8.1: `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList` of a strategic merge patch are put into the object, not carried out.
#
# Guess before it was run: a strategic merge patch means the same to kustomize and to `kubectl patch`; Kubernetes documents these three directives with `$patch`, which
# kustomize knows.
# Seen: exit code 0. `$retainKeys: [type]` with `type: Recreate` leaves `rollingUpdate` in the strategy, and itself as a field; the finalizer stays, the order of the
# containers stays, and both directives are fields of the object. A server refuses or drops them, and the object is not what the patch asked for. `$patch: delete`
# and null do what they say.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
printf 'resources: [web.yaml]\npatches: [{path: patch.yaml}]\n' > kustomization.yaml
cat > web.yaml << 'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, finalizers: [a, b]}
spec:
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template: {spec: {containers: [{name: one, image: "one:1"}, {name: two, image: "two:1"}]}}
YAML
cat > patch.yaml << 'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, $deleteFromPrimitiveList/finalizers: [b]}
spec:
  strategy: {$retainKeys: [type], type: Recreate}
  template: {spec: {$setElementOrder/containers: [{name: two}, {name: one}], containers: [{name: one, image: "one:2"}]}}
YAML
code=0; bin/kustomize build . > built || code=$?
left=$(grep -o '\$[A-Za-z]*' built | sort | paste -sd ' ')
rolling=$(grep -c 'rollingUpdate:' built)
finalizers=$(sed -n '/^  finalizers:/,/^  name:/s/^  - //p' built | paste -sd ' ')
images=$(sed -n 's/.*image: //p' built | paste -sd ' ')
echo "kustomize $VERSION, exit code $code: left $left; rollingUpdate $rolling; finalizers $finalizers; images $images"
[ "$code" = 0 ] && [ "$left" = '$deleteFromPrimitiveList $retainKeys $setElementOrder' ] && [ "$rolling" = 1 ] && [ "$finalizers" = 'a b' ] && [ "$images" = 'one:2 two:1' ]
