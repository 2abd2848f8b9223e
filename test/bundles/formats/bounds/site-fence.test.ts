import { describe, expect, it, test } from 'vitest';
import { siteFence } from '../../../../bundles/formats/bounds/site-fence.ts';
import { pointerTokens } from '../../../../bundles/formats/bounds/site-fields.ts';

const DIGEST = `@sha256:${'a'.repeat(64)}`;
const pod = {
  metadata: { annotations: { note: 'x' } },
  spec: {
    replicas: 1,
    containers: [
      { name: 'app', image: `r.example/app${DIGEST}`, env: [{ name: 'A', value: '1' }], args: ['a'] },
    ],
    volumes: [{ name: 'a', emptyDir: {} }],
  },
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {},
  spec: { replicas: 1, template: pod },
};
const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { image: 'a', privileged: 'b' } };
const custom = { apiVersion: 'x.example/v1', kind: 'Widget', spec: { size: 1, pod: pod.spec, settings: {} } };
const fence = (object: object, pointer: string, value?: unknown) =>
  siteFence(object as Parameters<typeof siteFence>[0], pointerTokens(pointer), value);

const CONTAINER = '/spec/template/spec/containers/0';

describe('a site value, checked against the protected fields', () => {
  test.each([
    [deployment, '/spec/replicas', 3],
    [deployment, `${CONTAINER}/env/0/value`, 'x'],
    [deployment, `${CONTAINER}/args`, ['--a', '--b']],
    [deployment, `${CONTAINER}/resources`, { limits: { memory: '1Gi' } }],
    [deployment, '/spec/template/spec/volumes', [{ name: 'a', configMap: { name: 'b' } }]],
    [deployment, '/spec/template/metadata/annotations/note', 'y'],
    [deployment, '/metadata/labels/line', '7'],
    [config, '/data/image', 'x'],
    [config, '/data/privileged', 'x'],
    [custom, '/spec/size', 2],
    [custom, '/spec/settings', { a: 1 }],
    [{ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', spec: {} }, '/spec/rules/0/host', 'a.example'],
    [{ apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', spec: {} }, '/spec/values/line', 1],
  ])('is allowed at %# %j', (object, pointer, value) => {
    expect(fence(object, pointer, value)).toBeUndefined();
    expect(fence(object, pointer)).toBeUndefined();
  });

  test.each([
    [deployment, '/kind', 'DaemonSet'],
    [deployment, '/apiVersion', 'v1'],
    [deployment, '/', {}],
    [deployment, '/status', {}],
    [deployment, '/metadata', {}],
    [deployment, '/metadata/name', 'x'],
    [deployment, '/metadata/namespace', 'kube-system'],
    [deployment, '/metadata/annotations', {}],
    [deployment, '/metadata/ownerReferences', []],
    [deployment, '/metadata/annotations/fleet-ferry~1prune', 'disabled'],
    [deployment, '/metadata/labels/pod-security.kubernetes.io~1enforce', 'privileged'],
    [
      deployment,
      '/spec/template/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1app',
      'unconfined',
    ],
    [deployment, '/spec/template/metadata', { annotations: {} }],
    [deployment, '/spec/template', pod],
    [deployment, '/spec/template/spec', pod.spec],
    [deployment, CONTAINER, {}],
    [deployment, `${CONTAINER}/image`, 'evil'],
    [deployment, `${CONTAINER}/imagePullPolicy`, 'Always'],
    [deployment, `${CONTAINER}/securityContext`, { runAsNonRoot: true }],
    [deployment, `${CONTAINER}/securityContext/privileged`, true],
    [deployment, `${CONTAINER}/SecurityContext`, {}],
    [deployment, '/spec/template/spec/hostNetwork', true],
    [deployment, '/spec/template/spec/serviceAccountName', 'admin'],
    [deployment, '/spec/template/spec/nodeName', 'x'],
    [deployment, '/spec/template/spec/volumes/0/hostPath/path', '/'],
    [custom, '/spec/pod', {}],
    [custom, '/spec/pod/hostPID', true],
    [custom, '/spec/targetNamespace', 'kube-system'],
    [config, '/binaryData/x', 'x'],
    [config, '/immutable', true],
    [{ apiVersion: 'v1', kind: 'Secret', stringData: { a: 'b' } }, '/stringData/a', 'x'],
    [{ apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: 1 } } }, '/spec/hard/pods', 99],
    [{ apiVersion: 'v1', kind: 'Namespace' }, '/metadata/labels/a', 'x'],
    [{ apiVersion: 'v1', kind: 'ServiceAccount' }, '/automountServiceAccountToken', true],
    [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [] }, '/rules', []],
    [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' }, '/metadata/labels/a', 'x'],
    [
      { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository', spec: {} },
      '/spec/url',
      'https://x',
    ],
    [{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', spec: {} }, '/spec/project', 'x'],
    [{ apiVersion: 'v1', kind: 'List', items: [deployment] }, '/items/0/kind', 'x'],
    [{ apiVersion: 'v1', kind: 'List', items: [deployment] }, '/items', []],
  ])('is refused at %# %j, even before its value is known', (object, pointer, value) => {
    expect(fence(object, pointer)).toBeDefined();
    expect(fence(object, pointer, value)).toBeDefined();
  });

  test.each([
    ['/spec/template/spec/volumes', [{ name: 'a', hostPath: { path: '/' } }]],
    ['/spec/template/spec/volumes/0', { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
    ['/spec/strategy', { deep: [{ er: { securityContext: {} } }] }],
    ['/spec/strategy', { HostNetwork: true }],
    ['/spec/strategy', { 'fleet-ferry/prune': 'disabled' }],
    ['/metadata/labels/a', { b: 1 }],
  ])('at %s is refused for its content: %j', (pointer, value) => {
    expect(fence(deployment, pointer)).toBeUndefined();
    expect(fence(deployment, pointer, value)).toBeDefined();
  });

  it('is refused when it changes an image that the build pinned, at any field or parent', () => {
    const flags = {
      apiVersion: 'x.example/v1',
      kind: 'Widget',
      spec: { flag: `--runner=r.example/a${DIGEST}` },
    };
    expect(fence(flags, '/spec/flag')).toBe('it names an image, which the build decides');
    expect(fence(flags, '/spec')).toBe('it names an image, which the build decides');
  });
});
