/** A small control plane in Kalypso's form, its branches as file sets. */

export const CONTROL_PLANE = 'https://example.com/platform/control-plane';
export const SHOP = 'https://example.com/shop/shop.git';

export const kalypsoMain = (controlPlane = CONTROL_PLANE, shop = SHOP): Record<string, string> => ({
  '.environments/dev.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata:
  name: dev
spec:
  controlPlane:
    repo: ${controlPlane}
    branch: dev
    path: .
`,
  '.sourceignore': '.environments/\nnotes/\n',
  'notes/draft.yaml': 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: half\n',
  'templates/all.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: rec
spec:
  type: reconciler
  manifests:
    - |
      target: {{ .DeploymentTargetName }}
      path: {{ .Manifests.path }}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: ns
spec:
  type: namespace
  manifests:
    - |
      name: {{ .Namespace }}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: cfg
spec:
  type: config
  manifests:
    - |
      {{ toYaml .ConfigData }}
`,
  'workloads/shop.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: shop-reg
spec:
  workload:
    repo: ${shop}
    branch: main
    path: ./deploy/
  workspace: team-one
`,
});

export const kalypsoDev = (controlPlane = CONTROL_PLANE, commit = ''): Record<string, string> => ({
  'base-repo.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
spec:
  repo: ${controlPlane}
  branch: main
  path: .
  commit: "${commit}"
`,
  'types/edge.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: edge
  labels:
    region: eu
spec:
  reconciler: rec
  namespaceService: ns
  configType: cfg
`,
  'policies/all.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: all
spec:
  deploymentTargetSelector:
    workspace: team-one
    labelSelector: {}
  clusterTypeSelector:
    labelSelector: {}
`,
  'configs/eu.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: eu
  labels:
    platform-config: "true"
    region: eu
data:
  url: https://eu.example.com
`,
});

export const shopRepository = (): Record<string, string> => ({
  'README.md': '# Shop\n',
  'deploy/shop.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: shop
spec:
  deploymentTargets:
    - name: web
      environment: dev
      manifests:
        repo: https://example.com/shop/gitops
        path: ./web
`,
});
