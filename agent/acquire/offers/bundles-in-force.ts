import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Agent } from '../../store/agent.ts';
import { readTrustRow } from '../../store/trust.ts';

/** The bundles of the desired packages, from the store; none before the first release. @throws FleetError as readBundle */
export const bundlesInForce = async ({
  state,
  signal,
}: Pick<Agent, 'state' | 'signal'>): Promise<readonly Bundle[]> => {
  const bundles: Bundle[] = [];
  for (const digest of readTrustRow(state).desiredBundles)
    bundles.push(await readBundle(state.blobs, digest, signal));
  return bundles;
};
