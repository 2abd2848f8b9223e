import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { holdUnpackable, type PackingSteps } from '../../../../scheduler/assemble/bundle/hold-unpackable.ts';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import { rankPackages } from '../../../../scheduler/assemble/bundle/rank-packages.ts';
import { checkReadable, readBack } from '../../../../scheduler/assemble/bundle/read-back.ts';
import { clusterType, target } from '../../model-objects.ts';

const TYPE = clusterType('edge');

/** @param minimum in the schema of its site input; a NaN stands for any value that the packing does not expect */
const made = (id: string, minimum: number, dependsOn: readonly string[] = []): AssembledPackage => ({
  assignment: {
    clusterType: TYPE,
    policy: 'all',
    target: target(id, { name: id, shortName: id, dependsOn, at: { file: `${id}.yaml`, line: 3 } }),
  },
  id,
  namespace: id,
  files: [],
  digest: `sha256:${'0'.repeat(64)}`,
  siteInputs: [{ input: id, file: 'a.yaml', pointer: '/0/spec', schema: { type: 'number', minimum } }],
  owns: [],
  images: [],
});

const ABOUT = { fleet: 'halden', environment: 'prod', clusterType: TYPE, closure: [] };

const pack = async (packages: readonly AssembledPackage[]) => readBack(await packBundle(ABOUT, packages));

const stepsWith = (change: Partial<PackingSteps> = {}): PackingSteps => ({
  pack,
  check: (packages) => checkReadable(ABOUT, packages),
  rank: (packages) => rankPackages(packages, undefined),
  ...change,
});

test('a site input schema with fractions is packed into the bundle config', async () => {
  const { bundle, held } = await holdUnpackable({ packages: [made('a', 0.5)], held: [] }, stepsWith());
  expect(held).toEqual([]);
  expect(bundle.config.siteInputs.schema).toMatchObject({ properties: { a: { minimum: 0.5 } } });
});

test('a package that cannot be packed is held with its position, together with the packages that depend on it', async () => {
  const packages = [made('a', 1), made('b', Number.NaN), made('c', 2, ['b'])];
  const { bundle, held } = await holdUnpackable({ packages, held: [] }, stepsWith());
  expect(bundle.config.assignments.map(({ id }) => id)).toEqual(['a']);
  expect(held.map(({ assignment, error }) => [assignment.target.name, error.code, error.at?.file])).toEqual([
    ['b', 'INTERNAL', 'b.yaml'],
    ['c', 'DEPENDENCY_MISSING', 'c.yaml'],
  ]);
});

test('an error that no single package causes fails the build', async () => {
  const fail = async (packages: readonly AssembledPackage[]) => {
    if (packages.length > 1) throw new TypeError('too many');
    return await pack(packages);
  };
  await expect(
    holdUnpackable({ packages: [made('a', 1), made('b', 1)], held: [] }, stepsWith({ pack: fail })),
  ).rejects.toThrow('too many');
});

test('DISK_FULL fails the build', async () => {
  const fail = () => Promise.reject(new FleetError('DISK_FULL', 'the disk is full'));
  await expect(
    holdUnpackable({ packages: [made('a', 1)], held: [] }, stepsWith({ pack: fail })),
  ).rejects.toThrow('the disk is full');
});

const tenant = (id: string, workspace: string, fields: number): AssembledPackage => {
  const one = made(id, 1);
  return {
    ...one,
    assignment: {
      ...one.assignment,
      target: { ...one.assignment.target, workspace, registration: workspace },
    },
    siteInputs: Array.from({ length: fields }, (_, at) => ({ ...one.siteInputs[0]!, pointer: `/0/${at}` })),
  };
};

test('when packages together exceed a limit, those of the workspace with the largest share are held', async () => {
  const packages = [tenant('a', 'greedy', 4000), tenant('b', 'modest', 3000), tenant('c', 'greedy', 4001)];
  const { bundle, held } = await holdUnpackable({ packages, held: [] }, stepsWith());
  expect(bundle.config.assignments.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(held.map(({ assignment, error }) => [assignment.target.name, error.code, error.message])).toEqual([
    [
      'c',
      'WORKSPACE_LIMIT',
      'the packages of workspace greedy do not fit into the bundle of edge beside those of others: bundle config at /siteInputs/fields must NOT have more than 10000 items',
    ],
  ]);
});

test('when packages together exceed a limit, those of the last release stay, and the largest growth is held', async () => {
  const small = tenant('b', 'modest', 6000);
  const { config } = await pack([small]);
  const rank = (packages: readonly AssembledPackage[]) => rankPackages(packages, config);
  const given = { packages: [tenant('a', 'newcomer', 4500), small], held: [] };
  const { bundle } = await holdUnpackable(given, stepsWith({ rank }));
  expect(bundle.config.assignments.map(({ id }) => id)).toEqual(['b']);
  // Changed, and larger than the newcomer as a whole, but it has grown less.
  const changed = { ...tenant('b', 'modest', 6100), digest: `sha256:${'1'.repeat(64)}` as const };
  const next = await holdUnpackable(
    { ...given, packages: [given.packages[0]!, changed] },
    stepsWith({ rank }),
  );
  expect(next.bundle.config.assignments.map(({ id }) => id)).toEqual(['b']);
});
