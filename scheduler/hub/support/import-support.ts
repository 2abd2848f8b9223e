import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import type { FoundSupport } from '#bundles/trust/reports/find-support';
import { MAX_SUPPORT_BYTES } from '#bundles/trust/reports/support';
import type { Hub } from '../hub.ts';
import { abortIfAsked, orRefuse, type Refused } from '../refused.ts';
import { type TakenSupport, takeSupport } from './take-support.ts';

/** Bundles of one agent that are read from a medium; another machine could add thousands. */
const MAX_OF_AGENT = 20;

/**
 * Stores the support bundles on a medium. One that is refused is added to `refused` and does not stop the others.
 * @throws FleetError BUSY, DISK_FULL, ABORTED
 */
export const importSupport = async (
  hub: Hub,
  medium: OpenMedium,
  bundles: readonly FoundSupport[],
  {
    now,
    refused,
    signal,
  }: { readonly now: Date; readonly refused: Refused[]; readonly signal?: AbortSignal | undefined },
): Promise<readonly TakenSupport[]> => {
  const taken: TakenSupport[] = [];
  for (const [folder, found] of Map.groupBy(bundles, (one) => one.folder)) {
    const agent = await hub.store.db
      .selectFrom('agent')
      .selectAll()
      .where('folder', '=', folder)
      .where('follower', 'is', null)
      .executeTakeFirst();
    for (const { path } of found.slice(0, MAX_OF_AGENT)) {
      abortIfAsked(signal);
      const one = await orRefuse(refused, path, async () => {
        if (!agent)
          throw new FleetError('AGENT_UNKNOWN', `${path} is from an agent that was never enrolled here`);
        const bytes = await medium.readFile(path, MAX_SUPPORT_BYTES);
        return takeSupport(hub.store, { bytes, agent, source: 'stick', path }, now);
      });
      if (one) taken.push(one);
    }
    const [, ...more] = found.slice(MAX_OF_AGENT - 1);
    if (more[0])
      refused.push({
        path: more[0].path,
        error: new FleetError(
          'TOO_MANY',
          `${folder} has ${found.length} support bundles, at most ${MAX_OF_AGENT} are read`,
        ),
      });
  }
  return taken;
};
