import { shortDigest } from '#bundles/digest';
import type { Candidate } from '#bundles/formats/candidate';
import type { PinnedTools } from '../../load/applications/tools/pin-tools.ts';
import type { Platform } from '../../model/model.ts';
import type { GivenCandidate } from './given-candidate.ts';

/** The programs that rendered the last release of an environment; undefined without one. */
export type LastTools = () => Promise<Candidate['tools']>;

const RELOCK = 'or lock the new version with fleet-scheduler images lock --update';

/**
 * Pins each program by the candidate that is promoted, else by the lock file, else by the last release. xz only unpacks: its version does
 * not change the bytes.
 */
export const pinnedRenderers = (
  given: GivenCandidate | undefined,
  { renderers = new Map() }: Pick<Platform, 'renderers'>,
  last: LastTools | undefined,
): PinnedTools => {
  let known: ReturnType<LastTools> | undefined;
  return async (name) => {
    if (name === 'xz') return undefined;
    const before = given?.document.tools?.find((tool) => tool.name === name);
    if (given && before) {
      const by = `candidate ${shortDigest(given.digest)}`;
      return { version: before.version, by, hint: 'or promote a candidate that it rendered' };
    }
    const locked = renderers.get(name);
    if (locked !== undefined) return { version: locked, by: 'images.lock.yaml', hint: RELOCK };
    const released = (await (known ??= last?.()))?.find((tool) => tool.name === name);
    return released && { version: released.version, by: 'the last release', hint: RELOCK };
  };
};
