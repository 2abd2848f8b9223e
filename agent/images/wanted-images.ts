import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import type { Agent } from '../store/agent.ts';
import { openOperations } from '../store/journal/operations.ts';
import { readPackages } from '../store/applied/packages.ts';
import { readTrustRow } from '../store/trust.ts';
import { imagesOf } from './plan-images.ts';

/** Images of the bundles of all desired, current and previous packages; the previous ones serve local rollbacks. */
export const wantedImages = async ({
  state,
  signal,
}: Pick<Agent, 'state' | 'signal'>): Promise<readonly ClosureEntry[]> => {
  const bundles = [];
  for (const digest of wantedBundles({ state })) bundles.push(await readBundle(state.blobs, digest, signal));
  return imagesOf(bundles);
};

const wantedBundles = ({ state }: Pick<Agent, 'state'>): readonly Digest[] => {
  const refs = [
    ...readPackages(state).flatMap(({ desired, current, previous }) => [desired, current, previous]),
    ...openOperations(state).flatMap(({ from, to }) => [from, to]),
  ];
  const digests = [...readTrustRow(state).desiredBundles, ...refs.map((ref) => ref?.bundle)];
  return [...new Set(digests.filter((digest) => digest !== undefined))].toSorted(compareBytes);
};
