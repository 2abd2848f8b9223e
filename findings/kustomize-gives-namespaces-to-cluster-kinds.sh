#!/bin/bash
# kustomize 5.8.1: `namespace` writes a namespace into objects of Kubernetes' own that have none: ValidatingAdmissionPolicy, DeviceClass, ServiceCIDR.
#
# Guess before it was run: kustomize knows which kinds of Kubernetes have no namespace, as it leaves ClusterRole, StorageClass and IngressClass alone.
# Seen: it knows those of Kubernetes 1.21 (`kustomize openapi info`). A kind that came later gets `metadata.namespace`, exit code 0. What reads the objects before the
# API server drops that field sees one that cannot exist: a policy or an inventory by namespace, a comparison with what runs.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
printf 'namespace: plant\nresources: [all.yaml]\n' > kustomization.yaml
for kind in rbac.authorization.k8s.io/v1/ClusterRole storage.k8s.io/v1/StorageClass networking.k8s.io/v1/IngressClass \
  admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy resource.k8s.io/v1/DeviceClass networking.k8s.io/v1/ServiceCIDR; do
  printf -- '---\napiVersion: %s\nkind: %s\nmetadata: {name: a}\n' "${kind%/*}" "${kind##*/}"
done > all.yaml
knows=$(bin/kustomize openapi info)
code=0; bin/kustomize build . > built || code=$?
given=$(awk '/^kind:/ { kind = $2 } /^  namespace:/ { print kind }' built | sort | paste -sd ' ')
echo "kustomize $VERSION, exit code $code, which knows $knows: given a namespace: $given"
[ "$code" = 0 ] && [ "$given" = 'DeviceClass ServiceCIDR ValidatingAdmissionPolicy' ] && [ -n "$(echo "$knows" | grep v1.21)" ]
