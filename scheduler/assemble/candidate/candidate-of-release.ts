import type { Candidate } from '#bundles/formats/candidate';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import { toMistake } from '../../model/problems.ts';
import { readCandidate } from './read-candidate.ts';

/** The candidate that a release was built from, and when. */
export type BuiltFrom = {
  readonly digest: Digest;
  readonly candidate: Pick<Candidate, 'declared' | 'kept'>;
  readonly builtAt: string;
};

/**
 * Reads the candidate that a channel's release was built from. Build time and candidate come from the bundle's statement, because a renewed
 * release has new dates.
 * @returns undefined if it can no longer be read or verified
 */
export const candidateOfRelease = async (
  layout: Layout,
  channel: Channel,
  documents: StoredRelease['documents'],
  { roots, signal }: { readonly roots: readonly TrustRoot[]; readonly signal: AbortSignal },
): Promise<BuiltFrom | undefined> => {
  const what = `the statement of the last bundle of ${formatChannel(channel)}`;
  try {
    const envelopes = await statementFiles(layout.blobs, documents, 'bundle');
    const { verified } = verifyUnder(envelopes, roots, 'bundle', PREDICATES.bundle, what);
    const { candidate: named, builtAt } = parseDocument('bundle-predicate', verified.predicate, what);
    const { document, digest } = await readCandidate(named, [layout.blobs], signal);
    return { digest, candidate: document, builtAt };
  } catch (error) {
    toMistake(error, `reading ${what}`);
    return undefined;
  }
};

/**
 * The candidate that declares the target of a package which is kept from removal: that of its release no longer does.
 * @returns a list of one, or empty
 */
export const declarationOf = async (
  layout: Layout,
  made: BuiltFrom | undefined,
  { clusterType, id }: { readonly clusterType: string; readonly id: string },
  signal: AbortSignal,
): Promise<readonly BuiltFrom['candidate'][]> => {
  const kept = made?.candidate.kept?.find((one) => one.clusterType === clusterType && one.assignment === id);
  if (!kept?.declaredIn) return [];
  try {
    return [(await readCandidate(kept.declaredIn, [layout.blobs], signal)).document];
  } catch (error) {
    toMistake(error, `reading the candidate that declares ${id}`);
    return [];
  }
};
