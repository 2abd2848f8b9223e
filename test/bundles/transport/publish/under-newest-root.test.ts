import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { underNewestRoot } from '#bundles/transport/publish/under-newest-root';
import type { TrustRoot } from '#bundles/trust/root/root';

const OLD = { version: 1 } as TrustRoot;
const NEW = { version: 2 } as TrustRoot;

const failing = (error: Error) => async (root: TrustRoot) => {
  if (root === NEW) throw error;
  return root.version;
};

it('reads a statement of before a rotation under the root of then', async () => {
  const unsigned = new FleetError('UNKNOWN_KEY', 'not signed');
  expect(await underNewestRoot([OLD, NEW], failing(unsigned))).toEqual({ value: 1, root: OLD });
});

it.each([
  new FleetError('REGISTRY_UNREACHABLE', 'no answer'),
  new FleetError('ABORTED', 'stopped'),
  new TypeError('a fault of the program'),
])('stops at an error that says nothing about the signature: %s', async (error) => {
  await expect(underNewestRoot([OLD, NEW], failing(error))).rejects.toBe(error);
});

it('reports the problem under the newest root when no root accepts the signatures', async () => {
  const read = async (root: TrustRoot) => {
    throw new FleetError('UNKNOWN_KEY', `not signed under root ${root.version}`);
  };
  await expect(underNewestRoot([OLD, NEW], read)).rejects.toThrow('not signed under root 2');
});
