import { describe, expect, it, test } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { compileSiteSchema } from '#bundles/formats/author-schema/compile-site-schema';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { Json } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { readManifests } from '../../../../agent/apply/kubernetes/desired/read-wanted.ts';
import { assembleKubernetes } from '../../../../scheduler/assemble/bundle/assemble-kubernetes.ts';
import { bundleConfig } from '../../../../scheduler/assemble/bundle/bundle-config.ts';
import type { DeploymentTarget } from '../../../../scheduler/model/model.ts';
import type { KubernetesInput, KubernetesPlace } from '../../../../scheduler/model/site-input.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../model-objects.ts';

const at = { file: 'workload.yaml', line: 9, column: 11 };
const TENANT = { registration: 'web', siteValues: ['line', 'oven-*'] };

const APP = {
  'config.yaml': `# the settings
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LINE: "0", "a/b": x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {LINE: "0"}
`,
  'web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: r.example/app@sha256:${'a'.repeat(64)}
          securityContext: {privileged: false}
          envFrom: [{configMapRef: {name: settings}}]
`,
};

const input = (to: KubernetesPlace, more: Partial<KubernetesInput> = {}): KubernetesInput => ({
  name: 'line',
  schema: { type: 'integer' },
  to,
  at,
  ...more,
});
const key = (name: string, of = 'LINE', restart = true): KubernetesPlace => ({
  kind: 'ConfigMap',
  name,
  key: of,
  restart,
});
const field = (kind: string, name: string, pointer: string, apiVersion?: string): KubernetesPlace => ({
  kind,
  name,
  apiVersion,
  pointer,
});

const assemble = (
  siteInputs: readonly KubernetesInput[],
  more: Partial<DeploymentTarget> = {},
  files: Readonly<Record<string, string>> = APP,
  platform: Readonly<Record<string, string>> = {},
) =>
  assembleKubernetes(
    renderedPackage(
      clusterType('edge', { namespaceService: 'namespace', configType: 'configmap' }),
      target('shop/web', { at, siteInputs, ...more }),
      { files: renderedFiles(platform) },
    ),
    {
      shown: 'shop/',
      files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
    },
    new Map(),
  );

type Read = {
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
  };
};

const refused = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    if (error instanceof FleetError) return formatError(error);
    throw error;
  }
  return 'taken';
};

/** Objects as an agent with these values makes them of the package. */
const atSite = (made: ReturnType<typeof assemble>, values: Readonly<Record<string, Json>>) => {
  const config = configOf([made]);
  const inputs = siteFields(config, Object.keys(values)).filter(({ input: one }) =>
    Object.hasOwn(values, one),
  );
  const objects = readManifests({
    assignment: made.id,
    package: made.digest,
    siteValues: digestOf('values'),
    files: new Map(made.files.map(({ path, bytes }) => [path, Buffer.from(bytes)])),
    siteInputs: inputs.map((one) => ({ ...one, value: values[one.input] as Json })),
  });
  return Object.fromEntries(
    objects.map(({ kind, name, fields }) => [`${kind} ${name}`, fields as unknown as Read]),
  );
};

const configOf = (packages: readonly ReturnType<typeof assemble>[]) =>
  bundleConfig(
    { fleet: 'halden', environment: 'prod', clusterType: clusterType('edge'), closure: [] },
    packages,
    { layerOf: () => digestOf('layer'), uncompressed: 1 },
  );
const MARK = 'fleet-ferry/site-values';
const markOf = (object: Read | undefined): unknown => object?.spec.template.metadata.annotations?.[MARK];

describe('a site input of a deployment target', () => {
  it('is written as text to a key of a ConfigMap, and restarts the pods that read it', () => {
    const made = assemble([input(key('settings'))]);
    expect(made.siteInputs).toEqual([
      {
        input: 'line',
        file: 'manifests/config.yaml',
        pointer: '/0/data/LINE',
        as: 'text',
        restart: true,
        schema: { type: 'integer' },
      },
    ]);
    expect(configOf([made]).critical).toEqual(['site-fields']);
    const [seven, eight, none] = [atSite(made, { line: 7 }), atSite(made, { line: 8 }), atSite(made, {})];
    expect(seven['ConfigMap settings']?.data).toEqual({ LINE: '7', 'a/b': 'x' });
    expect(seven['ConfigMap other']?.data).toEqual({ LINE: '0' });
    expect(markOf(seven['Deployment web'])).toMatch(/^[0-9a-f]{32}$/);
    expect(markOf(eight['Deployment web'])).not.toBe(markOf(seven['Deployment web']));
    expect(markOf(none['Deployment web'])).toBeUndefined();
    expect(atSite(made, { line: 7 })).toEqual(seven);
  });

  it('restarts no pod when none reads it, when the author turned it off, and when the content is unchanged', () => {
    expect(markOf(atSite(assemble([input(key('other'))]), { line: 7 })['Deployment web'])).toBeUndefined();
    const quiet = assemble([input(key('settings', 'LINE', false))]);
    const objects = atSite(quiet, { line: 7 });
    expect([objects['ConfigMap settings']?.data.LINE, markOf(objects['Deployment web'])]).toEqual([
      '7',
      undefined,
    ]);
  });

  test.each([
    ['a volume', 'volumes: [{name: a, configMap: {name: settings}}]'],
    ['a projected volume', 'volumes: [{name: a, projected: {sources: [{configMap: {name: settings}}]}}]'],
    [
      'an init container',
      'initContainers: [{name: a, image: X, env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: LINE}}}]}]',
    ],
  ])('restarts pods that read it by %s', (_, lines) => {
    const pod = lines.replace('X', `r.example/app@sha256:${'b'.repeat(64)}`);
    const web = APP['web.yaml']
      .replace(/ {10}envFrom.*\n/, '')
      .replace('      containers', `      ${pod}\n      containers`);
    expect(
      markOf(
        atSite(assemble([input(key('settings'))], {}, { ...APP, 'web.yaml': web }), { line: 1 })[
          'Deployment web'
        ],
      ),
    ).toBeDefined();
    const job = web
      .replace('apps/v1', 'batch/v1')
      .replace('kind: Deployment', 'kind: Job')
      .replace('replicas', 'parallelism');
    expect(
      markOf(
        atSite(assemble([input(key('settings'))], {}, { ...APP, 'web.yaml': job }), { line: 1 })['Job web'],
      ),
    ).toBeUndefined();
  });

  it('is written to any field with its JSON type', () => {
    const made = assemble([input(field('Deployment', 'web', '/spec/replicas'), { name: 'count' })]);
    expect(configOf([made]).critical).toEqual([]);
    expect(atSite(made, { count: 3 })['Deployment web']?.spec.replicas).toBe(3);
    expect(atSite(made, {})['Deployment web']?.spec.replicas).toBe(2);
  });

  it('finds a ConfigMap whose name has the hash suffix of a generator', () => {
    const files = { 'all.yaml': APP['config.yaml'].replace('name: settings', 'name: settings-7g6f9k2m4t') };
    expect(assemble([input(key('settings'))], {}, files).siteInputs).toMatchObject([
      { pointer: '/0/data/LINE' },
    ]);
  });

  it('has its description in the schema of the bundle, and is optional when it has a default', () => {
    const about = {
      title: 'Line',
      description: 'Its number',
      default: 1,
      example: 7,
      unit: 'line',
      editableBy: 'site',
    };
    const made = assemble([
      input(key('settings'), about),
      input(field('Deployment', 'web', '/spec/replicas'), { name: 'count' }),
    ]);
    const other = { ...assemble([input(key('other'), { ...about, title: 'Another' })]), id: 'zz' };
    const { schema } = configOf([made, other]).siteInputs;
    expect(schema).toEqual({
      type: 'object',
      properties: {
        line: {
          type: 'integer',
          title: 'Line',
          description: 'Its number',
          default: 1,
          examples: [7],
          'x-unit': 'line',
          'x-editable-by': 'site',
        },
        count: { type: 'integer' },
      },
      required: ['count'],
    });
    expect(compileSiteSchema(schema, 'bundle')({ count: 1 })).toEqual([]);
  });

  test.each([
    [
      key('setings'),
      'REFERENCE_MISSING: site input line goes to ConfigMap setings, which the application does not have. Did you mean settings? It has the ConfigMap settings, other',
    ],
    [
      key('settings', 'LINES'),
      'REFERENCE_MISSING: site input line goes to "/data/LINES", and ConfigMap settings has no such field. Did you mean /data/LINE?',
    ],
    [field('Deployment', 'web', '/spec/replica'), 'has no such field. Did you mean /spec/replicas?'],
    [
      field('Deployment', 'web', '/spec/template/spec/containers/1/args'),
      'and Deployment web has no such field',
    ],
    [
      field('Deploymnt', 'web', '/spec/replicas'),
      'which the application does not have. Did you mean Deployment?',
    ],
    [
      field('Deployment', 'web', '/spec/replicas', 'apps/v2'),
      'goes to Deployment web, which the application does not have',
    ],
  ])('is held at the build, with its position, for a place that does not exist: %j', (to, message) => {
    expect(refused(() => assemble([input(to)]))).toContain('workload.yaml:9:11');
    expect(refused(() => assemble([input(to)]))).toContain(message);
  });

  test.each([
    [
      'a default that does not fit',
      { default: 'x' },
      'FIELD_INVALID: site input line has the default "x", which does not fit its schema: it must be integer',
    ],
    ['an example that does not fit', { example: 1.5 }, 'FIELD_INVALID: site input line has the example 1.5'],
    [
      'a misspelled keyword',
      { schema: { tpye: 'integer' } },
      'SCHEMA_INVALID: site input line has a schema that cannot be used',
    ],
  ])('is held for %s', (_, more, message) => {
    expect(refused(() => assemble([input(key('settings'), more)]))).toContain(message);
  });

  it('is held when two inputs have the same field, and when the ConfigMap is immutable', () => {
    const two = [input(key('settings')), input(key('settings'), { name: 'b' })];
    expect(refused(() => assemble(two))).toContain(
      'OBJECT_CLASH: site input b goes to the same field as line',
    );
    const files = { 'c.yaml': `${APP['config.yaml'].split('---\n')[1]}immutable: true\n` };
    expect(refused(() => assemble([input(key('settings'))], {}, files))).toContain('which is immutable');
  });

  test.each([
    field('Deployment', 'web', '/spec/template/spec/containers/0/securityContext/privileged'),
    field('Deployment', 'web', '/spec/template/spec/containers/0/image'),
    field('Deployment', 'web', '/spec/template/spec/containers'),
    field('Deployment', 'web', '/metadata/namespace'),
    field('Deployment', 'web', '/kind'),
  ])('N91: fields of site values at the build: %j -> OUT_OF_BOUNDS', async (to) => {
    expect(await verdict(() => assemble([input(to, { schema: {} })]))).toBe('OUT_OF_BOUNDS');
  });

  it('N91: fields of site values at the build: the quota of its own namespace, and a value without a grant -> OUT_OF_BOUNDS', async () => {
    const quota = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform}\ndata: {LINE: "1"}\n';
    const call = (more: object) => () =>
      assemble([input(key('platform'))], more, APP, { 'namespace.yaml': quota });
    expect(refused(call({}))).toBe('taken');
    expect(refused(call(TENANT))).toContain('REFERENCE_MISSING');
    const foreign = () => assemble([input(key('settings'), { name: 'salary' })], TENANT);
    expect(await verdict(foreign)).toBe('OUT_OF_BOUNDS');
    expect(refused(foreign)).toContain('shop-web: its workspace may not read the site value salary');
    const made = assemble([input(key('settings'))], TENANT);
    expect([made.bounds, made.reads]).toMatchObject([{ siteValues: ['line'] }, ['line']]);
  });
});

describe('siteConfig of a deployment target', () => {
  const CONFIG =
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-config}\ndata: {region: "eu", port: "1"}\n';
  const rendered = { 'platform-config.yaml': CONFIG };

  it("adds all site values to the platform's ConfigMap", () => {
    const made = assemble([], { siteConfig: true }, APP, rendered);
    const config = configOf([made]);
    expect(config.siteInputs.configs).toEqual([
      { assignment: 'shop-web', file: 'platform-config.yaml', pointer: '/0/data' },
    ]);
    expect(config.critical).toEqual(['site-fields']);
    const values = { port: 8080, line: { number: 7 }, ok: true, none: null };
    expect(atSite(made, values)['ConfigMap platform-config']?.data).toEqual({
      region: 'eu',
      port: '8080',
      line: '{"number":7}',
      ok: 'true',
      none: '',
    });
  });

  it('creates the ConfigMap when the platform has none', () => {
    const made = assemble([], { siteConfig: true });
    expect(atSite(made, { line: 7 })['ConfigMap platform-config']?.data).toEqual({ line: '7' });
    expect(atSite(made, {})['ConfigMap platform-config']?.data).toEqual({});
  });

  it('N91: fields of site values at the build: without a grant, and beyond it -> OUT_OF_BOUNDS', async () => {
    expect(await verdict(() => assemble([], { siteConfig: true, registration: 'web' }))).toBe(
      'OUT_OF_BOUNDS',
    );
    const made = assemble([], { siteConfig: true, ...TENANT }, APP, rendered);
    expect(made.bounds?.siteValues).toEqual(['line', 'oven-*']);
    expect(atSite(made, { line: 7, 'oven-1': 2, salary: 3 })['ConfigMap platform-config']?.data).toEqual({
      region: 'eu',
      port: '1',
      line: '7',
      'oven-1': '2',
    });
  });
});
