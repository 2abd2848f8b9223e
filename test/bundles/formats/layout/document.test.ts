import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type Document, fromDescriptor, toDescriptor } from '#bundles/formats/layout/document';

const plain = { digest: digestOf('a'), size: 1, mediaType: 'application/json' };
const full: Document = {
  ...plain,
  role: 'bundle',
  version: 7,
  site: 'plant-7',
  agent: 'plant-7/line-1',
  environment: 'prod',
  clusterType: 'kiosk',
  about: digestOf('b'),
};

describe('a document descriptor of a layout', () => {
  it('keeps every claim when it is written and read', () => {
    expect(fromDescriptor(toDescriptor(full))).toEqual(full);
    expect(fromDescriptor(toDescriptor({ ...plain, role: 'root' }))).toEqual({ ...plain, role: 'root' });
  });

  it('is ignored without a role', () => {
    expect(fromDescriptor(plain)).toBeUndefined();
    expect(fromDescriptor({ ...plain, annotations: { 'fleet-ferry.version': '1' } })).toBeUndefined();
  });

  it.each(['', '0', '-1', '1.5', 'x', '1e400', String(2 ** 53), 'Infinity'])(
    'has no version when it states %j',
    (version) => {
      const annotations = { 'fleet-ferry.role': 'release', 'fleet-ferry.version': version };
      expect(fromDescriptor({ ...plain, annotations })).toEqual({ ...plain, role: 'release' });
    },
  );

  it('has no subject when its "about" is not a digest', () => {
    const annotations = { 'fleet-ferry.role': 'bundle', 'fleet-ferry.about': '../../etc/passwd' };
    expect(fromDescriptor({ ...plain, annotations })).toEqual({ ...plain, role: 'bundle' });
  });
});
