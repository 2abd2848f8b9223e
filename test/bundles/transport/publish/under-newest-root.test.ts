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

it('a statement from before a rotation is accepted under the older root', async () => {
  const unsigned = new FleetError('UNKNOWN_KEY', 'not signed');
  expect(await underNewestRoot([OLD, NEW], failing(unsigned))).toEqual({ value: 1, root: OLD });
});

it.each([
  new FleetError('REGISTRY_UNREACHABLE', 'no answer'),
  new FleetError('ABORTED', 'stopped'),
  new TypeError('a fault of the program'),
])('an error unrelated to the signature ends the search at once: %s', async (error) => {
  await expect(underNewestRoot([OLD, NEW], failing(error))).rejects.toBe(error);
});

it('without an accepting root the error of the newest root is thrown', async () => {
  const read = async (root: TrustRoot) => {
    throw new FleetError('UNKNOWN_KEY', `not signed under root ${root.version}`);
  };
  await expect(underNewestRoot([OLD, NEW], read)).rejects.toThrow('not signed under root 2');
});
