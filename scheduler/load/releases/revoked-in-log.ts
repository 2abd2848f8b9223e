import { parseDigest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { Revocations } from '#bundles/formats/statements/predicates';
import { canonicalBytes } from '#bundles/json/canonical';
import { AUDIT_REPOSITORY } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readCheckedLines, verifyEntry } from './audit-log.ts';
import { readOnce } from './read-once.ts';

type Revoked = Revocations['revoked'][number];

/** The change that `fleet-scheduler revoke` records: its subject is '<environment>/<clusterType> <digest>'. */
export const REVOKE = 'revoke';

/**
 * The bundles that the audit log of a layout says were revoked, by formatChannel. Of the statements only those about revocations are
 * verified; the checkpoint covers all lines.
 * @throws FleetError the codes of readAuditLog
 */
export const readRevokedInLog = (
  layout: Layout,
  roots: readonly TrustRoot[],
): Promise<ReadonlyMap<string, readonly Revoked[]>> =>
  readOnce({ layout, roots, repository: AUDIT_REPOSITORY, what: 'revoked' }, async () => {
    const found = new Map<string, Revoked[]>();
    for (const line of await readCheckedLines(layout, roots)) {
      if (line.kind !== 'change' || !mentionsRevoke(canonicalBytes(line.statement))) continue;
      const { predicate } = verifyEntry(line, roots);
      if (!('change' in predicate) || predicate.change !== REVOKE) continue;
      const { about, reason, time } = predicate;
      const [channel = '', digest = ''] = about.split(' ');
      const revoked = { digest: parseDigest(digest, 'a revoked bundle'), reason: reason ?? '', at: time };
      found.set(channel, [...(found.get(channel) ?? []), revoked]);
    }
    return found;
  });

/** Most changes are of other kinds, and a signature takes longer to verify than its text to search. */
const mentionsRevoke = (statement: Buffer): boolean =>
  parseEnvelope(statement, 'an entry of the audit log').payload.includes(`"change":"${REVOKE}"`);
