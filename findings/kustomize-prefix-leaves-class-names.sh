#!/bin/bash
# kustomize 5.8.1: `namePrefix` renames an IngressClass, a RuntimeClass and a DeviceClass, and leaves the old name in what refers to them, with exit code 0.
#
# Guess before it was run: references between objects of one build follow the prefix, as those to a StorageClass, PriorityClass, ConfigMap and Service do.
# Seen: the objects are called eu-edge, eu-kata and eu-gpus; `ingressClassName`, `runtimeClassName`, `deviceClassName` and `resourceClaimTemplateName` still say
# edge, kata, gpus and gpu. `storageClassName` in the same build is eu-fast. Nothing is reported before they are applied; then no controller serves the Ingress, and the Pod is
# refused. A `nameReference` under `configurations` of the kustomization corrects each.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
printf 'namePrefix: eu-\nresources: [all.yaml]\n' > kustomization.yaml
object() { # APIVERSION KIND NAME FIELDS
  printf -- '---\napiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s\n' "$@"; }
{
  object networking.k8s.io/v1 IngressClass edge 'spec: {controller: example.com/edge}'
  object networking.k8s.io/v1 Ingress shop 'spec: {ingressClassName: edge, defaultBackend: {service: {name: shop, port: {number: 80}}}}'
  object node.k8s.io/v1 RuntimeClass kata 'handler: kata'
  object resource.k8s.io/v1 DeviceClass gpus 'spec: {}'
  object resource.k8s.io/v1 ResourceClaimTemplate gpu 'spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpus}}]}}}'
  object storage.k8s.io/v1 StorageClass fast 'provisioner: example.com/disk'
  object v1 PersistentVolumeClaim data 'spec: {storageClassName: fast}'
  object v1 Pod web 'spec: {runtimeClassName: kata, resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}], containers: [{name: web, image: "web:1"}]}'
} > all.yaml
code=0; bin/kustomize build . > built || code=$?
named=$(sed -n '/^kind: \(IngressClass\|RuntimeClass\|DeviceClass\|StorageClass\)$/,/^---/s/^  name: //p' built | sort | paste -sd ' ')
meant=$(sed -nE 's/^ *(- )?([a-z]*ClassName|resourceClaimTemplateName): /\2 /p' built | sort | paste -sd ,)
echo "kustomize $VERSION, exit code $code: objects $named; references $meant"
[ "$code" = 0 ] && [ "$named" = 'eu-edge eu-fast eu-gpus eu-kata' ] &&
  [ "$meant" = 'deviceClassName gpus,ingressClassName edge,resourceClaimTemplateName gpu,runtimeClassName kata,storageClassName eu-fast' ]
