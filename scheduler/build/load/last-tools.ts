import type { Candidate } from '#bundles/formats/candidate';
import type { Layout } from '#bundles/formats/layout/layout';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { readLineage } from '../../load/releases/read-lineage.ts';
import { readRelease } from '../../load/releases/read-release.ts';
import type { Platform } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';

/**
 * The programs that rendered the newest release of the first channel of an environment that has any. undefined where no release says it, or
 * none can be read: then nothing is pinned by it.
 * @throws FleetError ABORTED, DISK_FULL
 */
export const lastTools = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  { environment, clusterTypes }: Pick<Platform, 'environment' | 'clusterTypes'>,
  signal: AbortSignal,
): Promise<Candidate['tools']> => {
  for (const { name: clusterType } of clusterTypes) {
    try {
      const release = await readRelease(layout, { environment, clusterType }, roots);
      const lineage = release && (await readLineage(layout, release));
      if (!lineage) continue;
      const { document } = await readCandidate(lineage.candidate, [layout.blobs], signal);
      if (document.tools?.some(({ name }) => name !== 'fleet-scheduler')) return document.tools;
    } catch (error) {
      toMistake(error);
    }
  }
  return undefined;
};
