import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { type AcceptedLease, judgeLease as judge } from '#bundles/trust/accept/judge-lease';
import { DEFAULT_MAX_VALIDITY_DAYS } from '#bundles/trust/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Evidence } from './judge.ts';

/**
 * Verifies the lease of a channel as an agent with its release would.
 * @param release digest of the release statement; undefined when the medium does not carry it and the site has it
 * @throws FleetError LEASE_MISMATCH, or the code with which the agent would refuse it
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
