import { readArtifact } from '../../formats/layout/artifact.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { choosePointers } from './choose-pointers.ts';
import type { Offering } from './offering.ts';
import { readChain } from './read-chain.ts';

/**
 * All roots of the fleet in a layout, oldest first, never empty. Receipts carry no root, and an old release not the newest.
 * @throws FleetError ROOT_UNKNOWN, ROOT_*
 */
export const readFleetChain = async (layout: Offering): Promise<readonly TrustRoot[]> => {
  const documents = await Promise.all(
    choosePointers(layout, {})
      .filter(({ tag }) => tag !== 'receipts')
      .map(({ repository, tag, artifact }) =>
        // An unreadable artifact is reported when it is published.
        readArtifact(layout.blobs, artifact, { what: `${repository}:${tag}` }).catch(() => []),
      ),
  );
  return readChain(layout.blobs, documents.flat());
};
