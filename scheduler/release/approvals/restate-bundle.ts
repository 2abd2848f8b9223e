import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { CANDIDATE_JSON, RESTATED_ARTIFACT } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { writeArtifact } from '../../load/releases/artifact.ts';
import { restatedReference } from '../../load/releases/newest-statement.ts';
import type { SignedBundle } from './sign-bundle.ts';
import { bundleStatementDocuments } from '../publish/publish-release.ts';

/**
 * Writes the statement about a bundle that is released already, and the candidate that gave it again. Agents need neither: no release
 * and no medium follows from it. @returns its index entry by reference; the caller writes the index
 */
export const restateBundle = async (
  layout: Layout,
  channel: Channel,
  bundle: Digest,
  { files, candidate }: SignedBundle,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const artifact = await writeArtifact(layout, RESTATED_ARTIFACT, [
    ...bundleStatementDocuments(channel, bundle, files),
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
  ]);
  return new Map([[restatedReference(channel, bundle), artifact]]);
};
