import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatError, isFleetError } from '#bundles/errors';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { By } from '../../hub/store/open-store.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { describeRoot } from '../../keys/root/describe-root.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import { recordChange } from '../../release/audit/record-change.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import type { Configuration } from '../../settings/configuration.ts';

/**
 * Appends an entry to the audit log for each installed root that has none, with the keys before and after. Run again, it appends
 * what an earlier call could not.
 * @param change the verb: 'root install'
 * @returns lines for the person: why there is no entry; empty if there is one for each root but the first
 */
export const recordRoots = async (
  { layout, keys }: Pick<Configuration, 'layout' | 'keys'>,
  change: string,
  by: By,
  now: Date,
): Promise<readonly string[]> => {
  if (keys === undefined) return [];
  const directory = await openKeyDirectory(keys);
  if (directory.roots.length === 1) return [];
  if (layout === undefined || !existsSync(join(layout, 'index.json')))
    return [
      'There is no entry in the audit log, because no layout is configured here. Repeat it with --layout.',
    ];
  try {
    using releases = await openReleases(layout, { command: change, now });
    const { entries } = await readAuditLog(await releases.open(), directory.roots);
    const recorded = new Set(
      entries.flatMap(({ kind, predicate }) => (kind === 'change' ? [predicate.new?.digest] : [])),
    );
    for (const [at, root] of directory.roots.entries()) {
      const before = directory.roots[at - 1];
      // The first root is what everything else is compared with.
      if (!before || recorded.has(root.digest)) continue;
      const about = `root ${root.version}`;
      const [old, after] = [keysOf(before), keysOf(root)];
      await recordChange(releases, directory, { change, about, ...by, old, new: after }, now);
    }
    return [];
  } catch (error) {
    if (!isFleetError(error)) throw error;
    return [`There is no entry in the audit log yet: ${formatError(error)}. Repeat it to write it.`];
  }
};

/** Digest, expiry, and the fingerprints of the keys of each role. */
const keysOf = (root: TrustRoot) => {
  const { roles, authorities } = describeRoot(root);
  return { digest: root.digest, version: root.version, roles, authorities };
};
