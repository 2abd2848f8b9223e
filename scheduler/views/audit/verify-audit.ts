import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import type { TrustRoot } from '#bundles/trust/root/root';
import { checkHead } from '../../load/releases/audit-head.ts';
import { type AuditLog, EMPTY_LOG, readAuditLog } from '../../load/releases/audit-log.ts';
import { listReleases } from '../../release/reissue/list-releases.ts';

/** Result of the verification of a layout's audit log. */
export type AuditVerification = {
  /** Empty if the log itself is refused. */
  readonly log: AuditLog;
  readonly channels: number;
  /** Numbers of releases in the layout that were read, and of those that name an entry. */
  readonly releases: number;
  readonly naming: number;
  /** The error of the log, then one error for each missing head. */
  readonly faults: readonly FleetError[];
};

/**
 * Verifies the audit log of a layout, and that it has the entry that each release of the layout names.
 * @param heads further heads that the log must have, recorded earlier
 * @throws FleetError if a current release or a revocation list cannot be read
 */
export const verifyAudit = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  heads: readonly Digest[] = [],
): Promise<AuditVerification> => {
  const faults: FleetError[] = [];
  const collect = <T>(check: () => T): T | undefined => {
    try {
      return check();
    } catch (error) {
      if (!isFleetError(error)) throw error;
      faults.push(error);
      return undefined;
    }
  };
  const read = await readAuditLog(layout, roots).catch((error: unknown) => {
    if (!isFleetError(error)) throw error;
    faults.push(error);
    return undefined;
  });
  const digests = read?.entries.map(({ digest }) => digest);
  const channels = channelsIn(layout).map((name) => parseChannel(name));
  const releases = [];
  for (const channel of channels)
    for (const { release } of await listReleases(layout, channel, roots)) releases.push(release);
  // The entries of a refused log are unknown, so releases are not compared with it.
  if (digests) {
    for (const release of releases) collect(() => checkHead(digests, release, layout));
    for (const head of heads) collect(() => checkNoted(digests, head, layout));
  }
  return {
    log: read ?? EMPTY_LOG,
    channels: channels.length,
    releases: releases.length,
    naming: releases.filter(({ predicate }) => predicate.auditHead !== null).length,
    faults,
  };
};

const checkNoted = (digests: readonly Digest[], head: Digest, { directory }: Layout): void => {
  if (digests.includes(head)) return;
  throw new FleetError('AUDIT_TRUNCATED', `the audit log in ${directory} does not have the entry ${head}`, {
    subject: head,
    hint: 'Entries were removed after it was noted, or it is of another log',
  });
};
