import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { holdUnpackable } from '../../../../scheduler/assemble/bundle/hold-unpackable.ts';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import { clusterType, target } from '../../model-objects.ts';

const TYPE = clusterType('edge');

/** @param minimum in the schema of its site input; a NaN stands for any value that the packing does not expect */
const made = (id: string, minimum: number, dependsOn: readonly string[] = []): AssembledPackage => ({
  assignment: {
    clusterType: TYPE,
    policy: 'all',
    target: target(id, { name: id, dependsOn, at: { file: `${id}.yaml`, line: 3 } }),
  },
  id,
  namespace: id,
  files: [],
  digest: `sha256:${'0'.repeat(64)}`,
  siteInputs: [{ input: id, file: 'a.yaml', pointer: '/0/spec', schema: { type: 'number', minimum } }],
  owns: [],
  images: [],
});

const pack = (packages: readonly AssembledPackage[]) => packBundle('halden', 'prod', TYPE, packages, []);

test('fractions of a site input are in the bundle config', async () => {
  const { bundle, held } = await holdUnpackable({ packages: [made('a', 0.5)], held: [] }, pack);
  expect(held).toEqual([]);
  expect(bundle.config.siteInputs.schema).toMatchObject({ properties: { a: { minimum: 0.5 } } });
});

test('a package that cannot be packed is held alone, with its place, and so is one that depends on it', async () => {
  const packages = [made('a', 1), made('b', Number.NaN), made('c', 2, ['b'])];
  const { bundle, held } = await holdUnpackable({ packages, held: [] }, pack);
  expect(bundle.config.assignments.map(({ id }) => id)).toEqual(['a']);
  expect(held.map(({ assignment, error }) => [assignment.target.name, error.code, error.at?.file])).toEqual([
    ['b', 'INTERNAL', 'b.yaml'],
    ['c', 'DEPENDENCY_MISSING', 'c.yaml'],
  ]);
});

test('an error that no single package causes ends the build', async () => {
  const fail = async (packages: readonly AssembledPackage[]) => {
    if (packages.length > 1) throw new TypeError('too many');
    return await pack(packages);
  };
  await expect(holdUnpackable({ packages: [made('a', 1), made('b', 1)], held: [] }, fail)).rejects.toThrow(
    'too many',
  );
});

test('a full disk ends the build', async () => {
  const fail = () => Promise.reject(new FleetError('DISK_FULL', 'the disk is full'));
  await expect(holdUnpackable({ packages: [made('a', 1)], held: [] }, fail)).rejects.toThrow(
    'the disk is full',
  );
});
