import { expect, test } from 'vitest';
import { packageDigest } from '../../../bundles/bundle/package-digest.ts';
import { assembleKubernetes } from '../../../scheduler/bundle/assemble-kubernetes.ts';
import type { ManifestCache } from '../../../scheduler/bundle/prepared-manifest.ts';
import type { RenderedPackage } from '../../../scheduler/platform/model.ts';
import { MadeFile } from '../../../scheduler/render/made-file.ts';
import type { Mould } from '../../../scheduler/render/remember-renders.ts';
import { clusterType, renderedPackage, target } from '../model-objects.ts';

const at = { file: 'x.yaml', line: 1, column: 1 };
const shop = target('shop/web', { workspace: 'w', labels: {}, at });

const namespaceFile: Mould = {
  pieces: ['apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ', '\n  labels: {type: ', '}\n'],
  holes: ['namespace', 'clusterType'],
  isEmpty: false,
};

const packageOn = (type: string): RenderedPackage => {
  const namespace = `dev-${type}-shop-web`;
  const context = {
    deploymentTargetName: shop.name,
    namespace,
    environment: 'dev',
    workspace: 'w',
    workload: 'shop',
    labels: {},
    manifests: {},
    clusterType: type,
    clusterTypeLabels: {},
    configData: {},
  };
  return renderedPackage(clusterType(type), shop, {
    files: [new MadeFile('namespace.yaml', namespaceFile, context)],
    namespace,
  });
};

const application = (text: string) => ({
  shown: 'shop/',
  files: new Map([['service.yaml', Buffer.from(text)]]),
});
const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n';

const digestsOn = (types: readonly string[], app: ReturnType<typeof application>, cache?: ManifestCache) =>
  types.map((type) => {
    const { digest, owns, images, files } = assembleKubernetes(packageOn(type), app, new Map(), cache);
    expect(digest).toBe(packageDigest(files));
    return { digest, owns, images, files: files.map(({ path, bytes }) => `${path}: ${bytes.toString()}`) };
  });

const TYPES = ['a1', 'a2', 'a3', 'a2', 'long', 'a4'];

test('a package that was assembled for other namespaces is what it would be without them', () => {
  const shop = application(SERVICE);
  expect(digestsOn(TYPES, shop, new Map())).toEqual(digestsOn(TYPES, shop));
});

test('a package is within its namespace where none of its objects is elsewhere', () => {
  const withinOf = (text: string): readonly (string | undefined)[] => {
    const cache: ManifestCache = new Map();
    const app = application(text);
    return ['a1', 'a2'].map((type) => assembleKubernetes(packageOn(type), app, new Map(), cache).within);
  };
  expect(withinOf(SERVICE)).toEqual(['dev-a1-shop-web', 'dev-a2-shop-web']);
  expect(withinOf(`${SERVICE}  namespace: other\n`)).toEqual([undefined, undefined]);
  expect(withinOf(SERVICE.replace('Service', 'ClusterRole'))).toEqual([undefined, undefined]);
  // It reads like a Service of another namespace.
  expect(withinOf(SERVICE.replace('name: web', 'name: a b/c'))).toEqual([undefined, undefined]);
});

test('packages of one target and namespace are told apart by what fills their files, and by the application', () => {
  const cache: ManifestCache = new Map();
  const [old, fresh] = [application(SERVICE), application(SERVICE.replace('web', 'api'))];
  digestsOn(TYPES, old, cache);
  expect(digestsOn(TYPES, fresh, cache)).toEqual(digestsOn(TYPES, fresh));
  expect(digestsOn(TYPES, old, cache)).toEqual(digestsOn(TYPES, old));
});

test('two objects that only meet in one namespace are refused there, however often it went well elsewhere', () => {
  const both = application(`${SERVICE}---\n${SERVICE}  namespace: dev-a9-shop-web\n`);
  const unbound = (type: string, cache?: ManifestCache) =>
    assembleKubernetes(packageOn(type), both, new Map(), cache).digest;
  const cache: ManifestCache = new Map();
  expect(['a1', 'a2', 'a3'].map((type) => unbound(type, cache))).toEqual(
    ['a1', 'a2', 'a3'].map((type) => unbound(type)),
  );
  expect(() => unbound('a9', cache)).toThrow('is there twice');
});
