import { expect, test } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { checkReadable, refusedAlone } from '../../../../scheduler/assemble/bundle/read-back.ts';
import type { Value } from '../../../../scheduler/model/value.ts';
import { clusterType, target } from '../../model-objects.ts';

const TYPE = clusterType('edge');
const ABOUT = { fleet: 'halden', environment: 'prod', clusterType: TYPE, closure: [] };

const made = (id: string, change: Partial<AssembledPackage> = {}): AssembledPackage => ({
  assignment: { clusterType: TYPE, policy: 'all', target: target(id, { name: id, shortName: id }) },
  id,
  namespace: id,
  files: [],
  digest: `sha256:${'0'.repeat(64)}`,
  siteInputs: [],
  owns: [],
  images: [`registry.example.com/${id}@sha256:${'0'.repeat(64)}`],
  ...change,
});

const refused = (packages: readonly AssembledPackage[]): readonly (readonly string[])[] => {
  return [...refusedAlone(packages, () => ABOUT)].map(([{ id }, { code, message }]) => [id, code, message]);
};

/** A site value whose schema is the same for its judges, with an example of this depth. */
const reads = (depth: number): Pick<AssembledPackage, 'siteInputs'> => {
  let example: Value = 1;
  for (let level = 0; level < depth; level += 1) example = [example];
  const schema = { type: 'number', examples: [example] };
  return { siteInputs: [{ input: 'port', file: 'a.yaml', pointer: '/0/spec', schema }] };
};

test('packages that readers take together are refused by none', () => {
  expect(refused([])).toEqual([]);
  expect(refused([made('a'), made('b'), made('c', reads(1))])).toEqual([]);
});

test('the packages that a reader would refuse are named, and no other', () => {
  const packages = [
    made('a'),
    made('b', { namespace: 'n'.repeat(300) }),
    made('c'),
    made('d', { images: ['i'.repeat(9999)] }),
  ];
  expect(refused(packages)).toEqual([
    ['b', 'FIELD_INVALID', expect.stringContaining('no agent would take this package')],
    ['d', 'FIELD_INVALID', expect.stringContaining('no agent would take this package')],
  ]);
});

test('packages that exceed a limit only together are not refused', () => {
  const files = Array.from({ length: 40_001 }, (_, at) => ({ path: `${at}.yaml`, bytes: '' }));
  const packages = ['a', 'b', 'c', 'd', 'e'].map((id) => made(id, { files }));
  expect(() => checkReadable(ABOUT, packages)).toThrow('at most');
  expect(refused(packages)).toEqual([]);
});

test('a schema is judged although a bundle takes that of another package with the same site value', () => {
  const packages = [made('a', reads(1)), made('b', reads(80))];
  expect(refused(packages)).toEqual([['b', 'FIELD_INVALID', expect.stringContaining('nests deeper')]]);
});

test('an exception of a package is an error of that package', () => {
  const packages = [made('a'), made('b', { files: [{ path: 'a.yaml', bytes: null as never }] })];
  expect(refused(packages)).toEqual([['b', 'INTERNAL', expect.any(String)]]);
});
