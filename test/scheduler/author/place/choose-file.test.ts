import { expect, test } from 'vitest';
import { chooseFile } from '../../../../scheduler/author/place/choose-file.ts';
import type { Layer } from '../../../../scheduler/author/place/layer.ts';

/** A layer with objects 'Kind name' by file. */
const layer = (files: Readonly<Record<string, readonly string[]>>, more: Partial<Layer> = {}): Layer => ({
  name: 'base',
  environment: undefined,
  form: 'fleet',
  location: { kind: 'directory', directory: '/x', shown: 'x' },
  folder: 'base',
  prefix: 'x/',
  files: Object.keys(files).map((path) => ({ path, bytes: Buffer.from('') })),
  objects: Object.entries(files).flatMap(([file, names]) =>
    names.map((one) => {
      const [kind = '', name = ''] = one.split(' ');
      return { apiVersion: 'fleet-ferry/v1alpha1', kind, name, file, at: { file } };
    }),
  ),
  ...more,
});

const choose = (files: Readonly<Record<string, readonly string[]>>, more?: Partial<Layer>): string => {
  const { path, kind } = chooseFile(layer(files, more), 'ClusterType', 'press');
  return `${kind} ${path}`;
};

test('the first of a kind goes into the folder that init makes for it', () => {
  expect(choose({})).toBe('new base/cluster-types/press.yaml');
});

test('a new object goes beside those of its kind, with the form of their file names', () => {
  expect(choose({ 'base/edge/a.yml': ['ClusterType a'], 'base/edge/b.yml': ['ClusterType b'] })).toBe(
    'new base/edge/press.yml',
  );
  const kalypso = {
    'cluster-types/east/drones/drone-cluster-type.yaml': ['ClusterType drone'],
    'cluster-types/east/center-cluster-type.yaml': ['ClusterType command-center'],
    'cluster-types/west/large/large-cluster-type.yaml': ['ClusterType large'],
  };
  expect(choose(kalypso, { form: 'kalypso', folder: '.' })).toBe('new cluster-types/press-cluster-type.yaml');
});

test('objects that are all over a layer leave the usual folder, or the fullest', () => {
  expect(choose({ 'base/a.yaml': ['ClusterType a'], 'base/cluster-types/b.yaml': ['ClusterType b'] })).toBe(
    'new base/cluster-types/press.yaml',
  );
  expect(
    choose({
      'base/x/a.yaml': ['ClusterType a'],
      'base/y/b.yaml': ['ClusterType b'],
      'base/y/c.yaml': ['ClusterType c'],
    }),
  ).toBe('new base/y/press.yaml');
});

test('a file with several objects of the kind gets one more', () => {
  expect(
    choose({ 'base/types.yaml': ['ClusterType a', 'ClusterType b'], 'base/c.yaml': ['ClusterType c'] }),
  ).toBe('append base/types.yaml');
});

test('a name that another file has is not taken', () => {
  expect(choose({ 'base/all/a.yaml': ['ClusterType a'], 'base/all/press.yaml': ['Config press'] })).toBe(
    'new base/all/press-cluster-type.yaml',
  );
});
