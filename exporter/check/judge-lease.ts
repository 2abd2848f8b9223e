import { readChannelDocuments } from '#bundles/accept/documents';
import type { AcceptedLease } from '#bundles/accept/judge-lease';
import { judgeLease as judge } from '#bundles/accept/judge-lease';
import { DEFAULT_MAX_VALIDITY_DAYS } from '#bundles/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import { verifyStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import type { Evidence } from './judge.ts';

/**
 * The lease of a channel as an agent judges it that has the release it is about.
 * @param release digest of the release's statement; undefined where it is not on the medium: then it is at the site
 * @throws FleetError LEASE_MISMATCH, and with the code that the agent would refuse it with
 */
export const judgeLease = async (
  { blobs, documents, now }: Evidence,
  root: TrustRoot,
  channel: Channel,
  release: Digest | undefined,
): Promise<AcceptedLease> => {
  const alone = documents.filter(({ role }) => role === 'lease');
  const { files } = await (await readChannelDocuments(blobs, alone, '')).leases(channel);
  const what = `the lease of ${formatChannel(channel)}`;
  const { subjects } = verifyStatement(files, root.roles.lease, PREDICATES.lease, what);
  return judge(
    {
      fleet: root.fleet,
      root,
      channel,
      release: release ?? subjects.find(({ name }) => name === 'release')?.digest,
      kept: undefined,
      clock: { now, trusted: true },
      policy: { maxValidityDays: DEFAULT_MAX_VALIDITY_DAYS, agentVersion: '999999.0.0' },
    },
    files,
  );
};
