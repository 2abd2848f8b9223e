import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { verifyEnvelope } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type Awaiting, signersOf } from './awaiting.ts';

/**
 * Adds one signature to a bundle that awaits approval.
 * @param file a sigstore bundle as cosign writes it
 * @returns the same record with the file appended; nothing is written
 * @throws FleetError PAYLOAD_MISMATCH if the file signs another statement, THRESHOLD if its key has already signed,
 *   UNKNOWN_KEY, BAD_SIGNATURE, BUNDLE_FORMAT
 */
export const addApproval = (awaiting: Awaiting, file: Buffer, root: TrustRoot): Awaiting => {
  const channel = formatChannel(awaiting.channel);
  const what = `the approval of ${channel}`;
  const { payload, hint } = verifyEnvelope(file, root.roles.bundle.keys, what);
  if (!payload.equals(awaiting.payload)) {
    throw new FleetError('PAYLOAD_MISMATCH', `${what} is for another statement than the one that waits`, {
      hint: `A newer bundle may have taken its place; export again: fleet-scheduler approvals export ${channel}`,
    });
  }
  if (signersOf(awaiting).includes(hint)) {
    throw new FleetError('THRESHOLD', `${what} is by a key that has signed already`, {
      subject: hint,
      hint: 'Another bundle signer has to approve it',
    });
  }
  return { ...awaiting, files: [...awaiting.files, file] };
};
