import { expect, test } from 'vitest';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { digestOf } from '#bundles/digest';
import { compareBundles } from '../../../../scheduler/release/approvals/compare-bundles.ts';

const configOf = (packages: Readonly<Record<string, string>>, images: readonly string[]): BundleConfig => ({
  fleet: 'acme',
  environment: 'prod',
  clusterType: 'edge',
  kind: 'kubernetes',
  assignments: Object.entries(packages).map(([id, content]) => ({
    id,
    package: digestOf(content),
    path: id,
    layer: digestOf('layer'),
    dependsOn: [],
    critical: false,
  })),
  siteInputs: { schema: {}, fields: [] },
  requirements: {},
  closure: images.map((name) => ({ digest: digestOf(name), size: 1, mediaType: 'x', names: [name] })),
  critical: [],
});

test('lists added, changed and removed packages separately, sorted by name', () => {
  const before = configOf({ web: '1', old: '1', same: '1' }, ['a@1', 'b@1']);
  const after = configOf({ web: '2', same: '1', zoo: '1', app: '1' }, ['b@1', 'c@1']);
  expect(compareBundles(before, after)).toEqual({
    added: ['app', 'zoo'],
    changed: ['web'],
    removed: ['old'],
    newImages: ['c@1'],
    goneImages: ['a@1'],
  });
});

test('lists everything as added for a first release', () => {
  expect(compareBundles(undefined, configOf({ web: '1' }, ['a@1']))).toMatchObject({
    added: ['web'],
    removed: [],
    newImages: ['a@1'],
  });
});
