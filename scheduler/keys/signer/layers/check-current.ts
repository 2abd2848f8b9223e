import { FleetError } from '#bundles/errors';
import type { Digest } from '#bundles/digest';
import type { SignedVersion } from '../state/open-state.ts';

export type ShownRelease = {
  /** formatChannel */
  readonly channel: string;
  readonly version: number;
  /** Digest of its payload. */
  readonly release: Digest;
};

/**
 * Checks that a release is the newest that the signer signed for its channel, or the one before it: the newest may have been signed and
 * never published. A signer that signed none takes any. @throws FleetError SIGNER_REFUSED
 */
export const checkCurrent = (
  { channel, version, release }: ShownRelease,
  [newest]: readonly SignedVersion[],
): void => {
  if (!newest || newest.payload === release || newest.previous === release) return;
  throw new FleetError(
    'SIGNER_REFUSED',
    `release ${version} of ${channel} is not release ${newest.version}, the newest that this signer signed, nor the one before it`,
    { subject: release, hint: 'If the layout is an old copy, restore the newest one' },
  );
};
