import type { RebootPolicy } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Agent } from '../../store/agent.ts';
import { readTrustRow } from '../../store/trust.ts';

/** The reboot policy in the bundle of the desired release; undefined: it has none. Rejects with the errors of reading the bundle. */
export const readRebootPolicy = async ({
  state,
  signal,
}: Pick<Agent, 'state' | 'signal'>): Promise<RebootPolicy | undefined> => {
  for (const digest of readTrustRow(state).desiredBundles) {
    const { config } = await readBundle(state.blobs, digest, signal);
    if (config.kind === 'host' && config.reboot) return config.reboot;
  }
  return undefined;
};
