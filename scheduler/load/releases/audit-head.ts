import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readCheckedLines } from './audit-log.ts';
import type { StoredRelease } from './read-release.ts';

/** Digests of the lines of a layout's log, oldest first. A `Layout` is a snapshot of the index, so they never change. */
const known = new WeakMap<Layout, Promise<readonly Digest[]>>();

const readHeads = (layout: Layout, roots: readonly TrustRoot[]): Promise<readonly Digest[]> => {
  const before = known.get(layout);
  if (before) return before;
  const heads = readCheckedLines(layout, roots).then((lines) => lines.map(({ digest }) => digest));
  known.set(layout, heads);
  return heads;
};

/**
 * The head of the audit log that the next release of a channel names.
 * @param previous the release before; the log must have the entry that it names
 * @returns null if the layout has no log
 * @throws FleetError AUDIT_TRUNCATED, AUDIT_CHAIN, AUDIT_CHECKPOINT; UNKNOWN_KEY, BAD_SIGNATURE for the checkpoint;
 *   MISSING_BLOB, DIGEST_MISMATCH
 */
export const nextAuditHead = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  previous: Pick<StoredRelease, 'predicate'> | undefined,
): Promise<Digest | null> => {
  const heads = await readHeads(layout, roots);
  if (previous) checkHead(heads, previous, layout);
  return heads.at(-1) ?? null;
};

/**
 * Checks that the log has the entry that a release names: a log that was cut after that release is refused.
 * @param heads digests of the log's lines
 * @throws FleetError AUDIT_TRUNCATED
 */
export const checkHead = (
  heads: readonly Digest[],
  { predicate: { auditHead, audience, version } }: Pick<StoredRelease, 'predicate'>,
  { directory }: Pick<Layout, 'directory'>,
): void => {
  if (auditHead === null || heads.includes(auditHead)) return;
  throw new FleetError(
    'AUDIT_TRUNCATED',
    `release ${version} of ${formatChannel(audience)} names an entry that the audit log in ${directory} does not have`,
    { subject: auditHead, hint: 'Entries were removed after that release; restore the newest copy of it' },
  );
};
