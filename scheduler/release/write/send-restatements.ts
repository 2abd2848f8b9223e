import { isFleetError } from '#bundles/errors';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { openRemoteEvidence } from '../../keys/remote/remote-key.ts';

/** Statements in one request; each has at most 64 KiB. */
const BATCH = 64;

/**
 * Shows a signer process the statements about bundles that are released already: it signed no release from which it could know that
 * their candidate is in the environment. Without a signer for releases nothing is to be done, and one that keeps no chain, or is
 * older, needs none of it.
 * @throws FleetError SIGNER_UNREACHABLE, PERMISSION
 */
export const sendRestatements = async (keys: KeyDirectory, files: readonly Buffer[]): Promise<void> => {
  const socket = files.length === 0 ? undefined : keys.signerOf('release');
  if (socket === undefined) return;
  const signer = await openRemoteEvidence(socket);
  try {
    for (let at = 0; at < files.length; at += BATCH)
      await signer.show({
        reports: [],
        documents: files.slice(at, at + BATCH).map((bytes) => bytes.toString('base64')),
      });
  } catch (error) {
    if (!isFleetError(error, 'USAGE')) throw error;
  }
};
