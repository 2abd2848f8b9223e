#!/bin/sh
# Installs the agent on the cluster that kubectl reaches, or upgrades it, with one command. What it applies are the overlays beside it; running it again
# with other options changes them, and running it again with the same ones changes nothing.
#
# A cluster without network, on a node of it, as root, from a stick with this folder and the image (podman save --output fleet-agent.tar <image>):
#   sh /media/fleet-agent/install.sh --offline --root-sha256 9f2c...e1
# One that reaches its registry and its hub, from anywhere:
#   sh install.sh --image registry.example/fleet-agent:0.1 --registry oci://registry.example/fleet --hub https://hub.example:8443 \
#     --fleet halden --site plant-7 --name line-1 --channel prod/edge --token-file token --root-sha256 9f2c...e1
#
#   --config FILE   agent.yaml, instead of --registry and --hub
#   --image NAME    by default the one in fleet-agent.tar, or the one that runs
#   --state DIR     the agent's state is this directory of the node, not a volume; by default with --offline where no storage class is the default
#   --cluster-admin the agent may do everything: for trials
#   --node          with --offline, on each further node: loads the image and makes the folders of images and media, nothing else
#   --print         prints what would be applied, and changes nothing
set -eu

here=$(cd "$(dirname "$0")" && pwd)
offline= node= print= admin= image= registry= hub= config= state= token= root=
fleet= site= name= channel=

fail() {
  echo "install.sh: $1" >&2
  exit "${2:-2}"
}

while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --offline) offline=yes ;;
    --node) node=yes ;;
    --print) print=yes ;;
    --cluster-admin) admin=yes ;;
    --image | --registry | --hub | --config | --state | --token-file | --root-sha256 | --fleet | --site | --name | --channel)
      [ $# -gt 0 ] || fail "$option needs a value"
      case $option in
        --image) image=$1 ;;
        --registry) registry=$1 ;;
        --hub) hub=$1 ;;
        --config) config=$1 ;;
        --state) state=$1 ;;
        --token-file) token=$1 ;;
        --root-sha256) root=${1#sha256:} ;;
        --fleet) fleet=$1 ;;
        --site) site=$1 ;;
        --name) name=$1 ;;
        --channel) channel=$1 ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set -eu/{/^set -eu/d;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
    *) fail "there is no option $option; --help lists them" ;;
  esac
done

case $root in
  *[!0-9a-f]*) fail "--root-sha256 must be 64 hexadecimal digits, as for fleet-agent enroll" ;;
esac
[ ${#root} -eq 64 ] || [ -n "$node" ] || fail "--root-sha256 must be 64 hexadecimal digits, as for fleet-agent enroll"
case ${image##*/} in
  '' | *:* | *@*) ;;
  *) fail "--image $image has no tag: write the version, such as $image:0.1" ;;
esac
if [ -n "$config" ]; then
  [ -r "$config" ] || fail "there is no file $config to read, which --config names"
  [ -z "$registry$hub" ] || fail "--config has registry and hub: leave out --registry and --hub"
fi
if [ -z "$offline" ]; then
  [ -z "$node" ] || fail "--node is for --offline: nodes of other clusters pull the image"
  [ -n "$image" ] || fail "--image is missing: the image of the agent in a registry that the cluster reaches"
  for given in "$fleet" "$site" "$name" "$channel" "$token"; do
    [ -n "$given" ] || fail "--fleet, --site, --name, --channel and --token-file are needed for the enrolment; with --offline a stick enrols"
  done
  [ -r "$token" ] || fail "there is no file $token to read, which --token-file names"
fi

# k3s and RKE2 bring a containerd and a kubectl of their own.
ctr=$(command -v ctr || true) containerd=/run/containerd
if [ -S /run/k3s/containerd/containerd.sock ]; then
  containerd=/run/k3s/containerd
  for ctr in /var/lib/rancher/k3s/data/current/bin/ctr /var/lib/rancher/rke2/bin/ctr; do
    [ -x "$ctr" ] && break
  done
fi
kubectl() {
  if command -v k3s > /dev/null && [ -z "${KUBECONFIG:-}" ]; then
    k3s kubectl "$@"
  else
    command kubectl "$@"
  fi
}

[ -n "$print$node" ] || kubectl get --raw /version --request-timeout=30s > /dev/null 2>&1 ||
  fail "kubectl reaches no cluster, so nothing was changed; kubectl version says more, and KUBECONFIG names the file with its address" 1

# First everything that refuses, then everything that changes.
if [ -n "$offline" ] && [ -z "$print" ]; then
  [ "$(id -u)" -eq 0 ] || fail "--offline loads the image into containerd and makes folders of the node: run it as root on the node"
  [ -n "$ctr" ] && [ -x "$ctr" ] || fail "there is no ctr on this node, which loads images into containerd"
  [ -z "$node" ] || [ -r "$here/fleet-agent.tar" ] || fail "there is no $here/fleet-agent.tar: write it beside this script with podman save"
fi
# The archives of docker and podman name the image in manifest.json.
[ -z "$offline" ] || [ ! -r "$here/fleet-agent.tar" ] ||
  image=${image:-$(tar -xOf "$here/fleet-agent.tar" manifest.json 2> /dev/null | sed -n 's/.*"RepoTags":\["\([^"]*\)".*/\1/p')}
was() {
  kubectl --namespace fleet-agent get deployment fleet-agent --output "jsonpath={.spec.template.spec.$1}" 2> /dev/null || true
}
if [ -z "$image" ] && [ -z "$node" ]; then
  image=$(was 'containers[0].image')
  [ -n "$image" ] || fail "--image is missing, and no $here/fleet-agent.tar names one"
fi

home= affinity= former= moved= kept= claimed=
if [ -z "$print$node" ]; then
  # Before there were image loaders the agent was root: it ends, and its state becomes the new user's.
  [ -z "$offline" ] || [ "$(was securityContext.runAsUser)" != 0 ] || former=yes
  if [ -n "$former" ]; then
    kept=$(was 'volumes[?(@.name=="state")].hostPath.path')
    state=${state:-$kept}
    [ "$state" = "$kept" ] || [ -z "$kept" ] || moved=yes
    [ -z "$moved" ] || [ -e "$state/state.db" ] ||
      fail "the agent's state is in $kept: copy it to $state of this node first, or leave --state out" 1
    [ -z "$moved" ] || kept=
    # A claim may be a directory of the node as well: that of k3s is one.
    volume=$(kubectl --namespace fleet-agent get persistentvolumeclaim fleet-agent-state --output 'jsonpath={.spec.volumeName}' 2> /dev/null || true)
    [ -z "$volume" ] || claimed=$(kubectl get persistentvolume "$volume" --output 'jsonpath={.spec.hostPath.path}{.spec.local.path}')
  fi
  # The state stays where it is. A new agent without a volume for it gets a directory of the node.
  state=${state:-$(kubectl get persistentvolume fleet-agent-state --output 'jsonpath={.spec.hostPath.path}' 2> /dev/null || true)}
  if [ -z "$state" ] && [ -n "$offline" ] &&
    ! kubectl --namespace fleet-agent get persistentvolumeclaim fleet-agent-state > /dev/null 2>&1 &&
    ! kubectl get storageclass --output yaml | grep -q 'is-default-class: "true"'; then
    state=/var/lib/fleet-agent
  fi
  # Once a volume says where it can be used, the server lets nobody change it.
  [ -z "$state" ] || affinity=$(kubectl get persistentvolume fleet-agent-state --output 'jsonpath={.spec.nodeAffinity}' 2> /dev/null || true)
fi
# The volume names the node of its directory: on another one the pod would be a new agent.
if [ -n "$offline" ] && [ -n "$state$claimed" ] && [ -z "$print$node" ]; then
  nodes=$(kubectl get nodes --output 'jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.bootID} {.metadata.labels.kubernetes\.io/hostname} {.status.nodeInfo.machineID}{"\n"}{end}')
  # Nodes that are containers have the boot id of their host, and are told apart by name or machine id. Not each machine has an id of its own, nor each
  # node the name of its machine.
  this=$(echo "$nodes" | awk -v boot="$(cat /proc/sys/kernel/random/boot_id)" -v name="$(uname -n)" -v id="$(cat /etc/machine-id 2> /dev/null)" '
    $2 != boot { next }
    $1 == name { named = $3 }
    id != "" && $4 == id { same++; alike = $3 }
    { count++; only = $3; unknown = id == "" || $4 == "" }
    END { print named != "" ? named : same == 1 ? alike : count == 1 && unknown ? only : "" }')
  [ -n "$this" ] || fail "this machine is no node of the cluster that kubectl reaches: run --offline on the node that is to have the agent's state" 1
  # An evicted pod runs nowhere, and a pod without a node says none. A state that was copied to this node is used here.
  runs=
  [ -n "$moved" ] || runs=$(kubectl --namespace fleet-agent get pods --selector=app.kubernetes.io/name=fleet-agent --field-selector=status.phase!=Failed \
    --output 'jsonpath={.items[*].spec.nodeName}' 2> /dev/null || true)
  home=$(echo "$nodes" | awk -v name="${runs%% *}" '$1 == name { print $3 }')
  home=${home:-$this}
  for folder in "$kept" "$claimed"; do
    [ -z "$folder" ] || { [ "$home" = "$this" ] && [ -d "$folder" ]; } ||
      fail "the agent's state is $folder of another node, and has to become another user's: run this on that node" 1
  done
  if [ -z "$affinity" ]; then
    affinity="{ required: { nodeSelectorTerms: [{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: ['$home'] }] }] } }"
  else
    home=$(kubectl get persistentvolume fleet-agent-state --output 'jsonpath={.spec.nodeAffinity..matchExpressions[?(@.key=="kubernetes.io/hostname")].values[*]}')
  fi
fi

if [ -n "$offline" ] && [ -z "$print" ]; then
  [ ! -r "$here/fleet-agent.tar" ] || "$ctr" --address "$containerd/containerd.sock" --namespace k8s.io images import "$here/fleet-agent.tar" > /dev/null ||
    fail "$here/fleet-agent.tar could not be loaded into containerd" 1
  # The agent and the loader are two users, and neither may replace what the other writes.
  install -d -g 65532 -m 750 /var/lib/fleet-images
  install -d -o 65532 -g 65532 -m 750 /var/lib/fleet-images/in
  install -d -o 65533 -g 65532 -m 750 /var/lib/fleet-images/nodes
  mkdir -p /media/fleet
  [ -z "$node" ] || { echo "This node is ready for the images of the agent."; exit 0; }
  if [ -n "$former" ]; then
    kubectl --namespace fleet-agent scale deployment fleet-agent --replicas=0
    kubectl --namespace fleet-agent wait --for=delete pod --selector=app.kubernetes.io/name=fleet-agent --timeout=180s
    for folder in "$state" "$claimed"; do
      [ ! -d "$folder" ] || chown -R 65532:65532 "$folder"
    done
  fi
  [ -z "$state" ] || [ "$home" != "$this" ] || install -d -o 65532 -g 65532 -m 700 "$state"
fi

work=$(mktemp -d)
# dash calls no EXIT trap for a signal, and the folder has the token.
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -n "$config" ]; then
  cp "$config" "$work/agent.yaml"
else
  : > "$work/agent.yaml"
  [ -z "$registry" ] || echo "registry: '$registry'" >> "$work/agent.yaml"
  [ -z "$hub" ] || echo "hub: '$hub'" >> "$work/agent.yaml"
fi
# Kustomize takes no absolute paths.
to=$(printf '%s' "$work" | sed 's#/[^/]*#../#g')
from=$to${here#/}
variant=online components= patches=
patch() {
  patches="$patches
  - target: { kind: PersistentVolume, name: $1 }
    patch: |
      - { op: replace, path: /spec/hostPath/path, value: '$2' }"
}
# Pods read their configuration when they start: another one starts them again.
read_at_start() {
  patches="$patches
  - target: { kind: $1, name: $2 }
    patch: |
      - { op: add, path: /spec/template/metadata/annotations, value: { fleet-ferry/config: '$3' } }"
}
[ ! -s "$work/agent.yaml" ] || read_at_start Deployment fleet-agent "$(cksum < "$work/agent.yaml")"
if [ -n "$state" ]; then
  components="$components '$from/single-node',"
  patch fleet-agent-state "$state"
  [ -z "$affinity" ] || patches="$patches
      - { op: add, path: /spec/nodeAffinity, value: $affinity }"
fi
if [ -n "$offline" ]; then
  variant=offline
  read_at_start DaemonSet fleet-image-loader "$root"
  patch fleet-agent-containerd "$containerd"
  patch fleet-agent-ctr "${ctr:-/usr/bin/ctr}"
fi
[ -z "$admin" ] || components="$components '$from/cluster-admin',"
{
  echo "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: ['$from/$variant']
components: [$components]
images: [{ name: fleet-agent, newName: '${image%:*}', newTag: '${image##*:}' }]
generatorOptions: { disableNameSuffixHash: true }
patches: ${patches:-[]}
configMapGenerator:"
  # Without one the ConfigMap that is there, if any, stays.
  [ ! -s "$work/agent.yaml" ] || echo "  - { name: fleet-agent, namespace: fleet-agent, files: [agent.yaml] }"
  if [ -n "$offline" ]; then
    echo "  - { name: fleet-image-loader, namespace: fleet-agent, literals: ['rootSha256=$root'] }"
  else
    cp "$token" "$work/token"
    echo "secretGenerator:
  - name: fleet-agent-enrolment
    namespace: fleet-agent
    files: [token]
    literals: ['fleet=$fleet', 'site=$site', 'name=$name', 'channel=$channel', 'rootSha256=$root']"
  fi
} > "$work/kustomization.yaml"

if [ -n "$print" ]; then
  kubectl kustomize "$work"
  exit 0
fi
kubectl apply --kustomize "$work"
[ -z "$offline" ] || kubectl --namespace fleet-agent rollout status daemonset/fleet-image-loader --timeout=300s
kubectl --namespace fleet-agent rollout status deployment/fleet-agent --timeout=300s || fail "the agent does not start; this says more:
  kubectl --namespace fleet-agent describe pods
  kubectl --namespace fleet-agent logs deployment/fleet-agent --all-containers" 1

echo
[ -n "$admin" ] || echo "The agent has no rights yet: fleet-scheduler rights <channel> > rights.yaml, at the office, then kubectl apply -f rights.yaml"
if [ -n "$offline" ]; then
  echo "Enrol it, with the stick at /media/fleet that the agent's user may write to (mount -o uid=65532 for FAT and exFAT):"
  echo "  kubectl -n fleet-agent exec deploy/fleet-agent -- fleet-agent enroll /media/fleet --fleet ... --site ... --name ... --channel ... --root-sha256 $root"
fi
