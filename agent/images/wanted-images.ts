import type { ClosureEntry } from '#bundles/bundle/config';
import { readBundle } from '#bundles/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import type { Agent } from '../agent.ts';
import { openOperation } from '../journal/operations.ts';
import { readPackages } from '../store/packages.ts';
import { readTrustRow } from '../store/trust.ts';
import { imagesOf } from './plan-images.ts';

/** Images of all bundles that packages are wanted from, run from, or ran from before: a local rollback goes there. */
export const wantedImages = async ({
  state,
  signal,
}: Pick<Agent, 'state' | 'signal'>): Promise<readonly ClosureEntry[]> => {
  const bundles = [];
  for (const digest of wantedBundles({ state })) bundles.push(await readBundle(state.blobs, digest, signal));
  return imagesOf(bundles);
};

const wantedBundles = ({ state }: Pick<Agent, 'state'>): readonly Digest[] => {
  const open = openOperation(state);
  const refs = [
    ...readPackages(state).flatMap(({ desired, current, previous }) => [desired, current, previous]),
    open?.from,
    open?.to,
  ];
  const digests = [...readTrustRow(state).desiredBundles, ...refs.map((ref) => ref?.bundle)];
  return [...new Set(digests.filter((digest) => digest !== undefined))].toSorted(compareBytes);
};
