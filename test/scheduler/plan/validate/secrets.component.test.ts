import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import { buildLoaded } from '../../../../scheduler/build/pipeline.ts';
import { loadPlatform, sourcesOf } from '../../../../scheduler/load/load-platform.ts';
import { validatePlatform } from '../../../../scheduler/views/validate-platform.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { ours } from '../../fleet-platform.ts';

const ENCRYPTED = `apiVersion: v1
kind: Secret
metadata:
    name: db
data:
    password: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
sops:
    lastmodified: "2026-11-21T08:00:00Z"
    mac: ENC[AES256_GCM,data:m,iv:y,tag:z,type:str]
    version: 3.13.3
`;
const FILLED =
  'apiVersion: v1\nkind: Secret\nmetadata:\n  name: mqtt\n  annotations: {fleet-ferry/secret-set: mqtt}\n';
const PLAIN = 'apiVersion: v1\nkind: Secret\nmetadata: {name: old}\nstringData: {password: hunter2}\n';

const platform = (manifests: Readonly<Record<string, string>>): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: qa}, {name: prod}]\n'),
  'platform/base/edge.yaml': ours('ClusterType', 'edge', 'spec: {requirements: {kubernetes: ">=1.33"}}\n'),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: ./deploy/}\n',
  ),
  'platform/base/sales.yaml': ours('Workspace', 'sales', 'spec: {host: {secretSets: [mqtt]}}\n'),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:
  deploymentTargets:
    - {name: web, environment: qa, manifests: {path: cluster}}
    - {name: web, environment: prod, manifests: {path: cluster}}
`,
  ),
  ...Object.fromEntries(Object.entries(manifests).map(([name, text]) => [`apps/shop/cluster/${name}`, text])),
});

const write = async (manifests: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, platform(manifests));
  return {
    directory,
    options: { platform: join(directory, 'platform'), maps: [], cacheDirectory: join(directory, 'cache') },
  };
};

const validate = async (manifests: Readonly<Record<string, string>>) => {
  const { directory, options } = await write(manifests);
  const { problems, advice } = await validatePlatform({ ...options, env: {} });
  const said = (errors: readonly Parameters<typeof formatError>[0][]) =>
    errors.map((error) => formatError(error).replaceAll(`${directory}/`, ''));
  return { problems: said(problems), advice: said(advice) };
};

test('encrypted Secrets and Secrets from sets cause no advice', async () => {
  const found = await validate({ 'db.yaml': ENCRYPTED, 'mqtt.yaml': FILLED, '.sops.yaml': 'stores: {}\n' });
  expect(found).toEqual({ problems: [], advice: [] });
});

test('a plain-text Secret is one advice for all environments, without its value', async () => {
  const { problems, advice } = await validate({ 'old.yaml': PLAIN });
  expect(problems).toEqual([]);
  expect(advice).toEqual([
    'apps/shop/cluster/old.yaml:1:1: SECRET_PLAIN: Secret old: its values stand here for everybody who can read the repository or a medium. Encrypt it with SOPS, or let a sealed set fill it: fleet-ferry/secret-set.',
  ]);
});

test.each([
  ['with encrypted documents', { 'db.yaml': ENCRYPTED }, ['secrets']],
  ['with Secrets to be filled', { 'mqtt.yaml': FILLED }, ['secrets']],
  ['without either', { 'old.yaml': PLAIN }, []],
] as const)('a bundle %s lists the critical features in its config', async (_, manifests, critical) => {
  const { options } = await write(manifests);
  const loading = { ...options, environment: 'prod', holdWorkloads: true };
  const sources = sourcesOf(loading);
  const { bundles } = await buildLoaded(
    {
      platform: await loadPlatform({ ...loading, sources }),
      sources,
      images: 'unchecked',
      previous: undefined,
      workers: 1,
      env: {},
    },
    new AbortController().signal,
  );
  expect(bundles.map(({ bundle }) => bundle.config.critical)).toEqual([critical]);
});

test('N33: a mistake in a Secret is said without its value -> OBJECT_INVALID', async () => {
  const head = 'apiVersion: v1\nkind: Secret\nmetadata: {name: old}\n';
  const bodies = [
    'data: {password: hunter2!}',
    'data: [hunter2]',
    'stringData: {pin: 48151623}',
    'stringData: {pin: [48151623]}',
    'type: [hunter2]',
    'immutable: hunter2',
    'data: {password: hunter2',
    'data: {password: "hunter2" hunter2}',
    'data: {password: *hunter2}',
    'data: {password: !hunter2 1}',
    'data: {password: "\\hunter2"}',
    'stringData:\n  password: |hunter2',
    'stringData: {a: hunter2, a: hunter2}',
  ];
  const { problems } = await validate(
    Object.fromEntries(
      bodies.map((body, index) => [`${index}.yaml`, `${head.replace('old', `s${index}`)}${body}\n`]),
    ),
  );
  expect(problems.map((one) => one.split(': ')[1])).toEqual(
    expect.arrayContaining(['OBJECT_INVALID', 'YAML_SYNTAX']),
  );
  for (const [index] of bodies.entries())
    expect(
      problems.some(
        (one) => one.startsWith(`apps/shop/cluster/${index}.yaml:4:`) || one.includes(`/${index}.yaml:5:`),
      ),
    ).toBe(true);
  for (const problem of problems) {
    expect(problem).toMatch(/: (?:OBJECT_INVALID|YAML_SYNTAX): /);
    expect(problem).not.toMatch(/unter2|4815/);
  }
});
