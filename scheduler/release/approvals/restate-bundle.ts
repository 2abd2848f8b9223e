import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { CANDIDATE_JSON, RESTATED_ARTIFACT } from '#bundles/media-types';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import type { Channel } from '#bundles/names';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import { writeArtifact } from '../../load/releases/artifact.ts';
import { restatedReference } from '../../load/releases/newest-statement.ts';
import { restatementsReference, withRestatement } from '../../load/releases/restatements.ts';
import type { SignedBundle } from './sign-bundle.ts';
import { bundleStatementDocuments } from '../write/write-release.ts';

/**
 * Writes the statement about a bundle that is released already, and the candidate that gave it again. Agents need neither: no release
 * and no medium follows from it. @returns index entries by reference: of the statement, and of the record that the candidate was there; the caller writes the index
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
  const shared = sharedOf(files);
  return new Map([
    [restatedReference(channel, bundle), artifact],
    ...(shared === undefined
      ? []
      : [[restatementsReference(channel), withRestatement(layout, channel, { artifact, shared })] as const]),
  ]);
};

/** The shared digest of the candidate, by the statement that was just signed. */
const sharedOf = ([file]: SignedBundle['files']): Digest | undefined => {
  if (!file) return undefined;
  const { predicate } = parseStatement(parseEnvelope(file, 'the statement').payload, 'the statement');
  return (predicate as BundlePredicate).shared;
};
