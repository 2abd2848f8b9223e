import type { Descriptor } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, referenceOf } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { readBlob } from '#bundles/layout/verified';
import { AWAITING_ARTIFACT, CANDIDATE_JSON } from '#bundles/media-types';
import { type Channel, formatChannel, isName } from '#bundles/names';
import { parseEnvelope } from '#bundles/statements/envelope';
import type { BundlePredicate } from '#bundles/statements/predicates';
import { parseStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';
import { readDocuments, writeArtifact } from '../publish/artifact.ts';
import { bundleStatementDocuments } from '../publish/publish-release.ts';
import { awaitingReference } from '../publish/references.ts';
import { countedUnder } from '../reissue/bundle-statements.ts';

/** A bundle that was built, and that too few have signed for a release. */
export type Awaiting = {
  readonly channel: Channel;
  readonly bundle: Digest;
  /** The exact bytes that each of its signers signs. */
  readonly payload: Buffer;
  readonly predicate: BundlePredicate;
  /** Signature files that count under the newest root, the first signer's first. */
  readonly files: readonly Buffer[];
  readonly candidate: Buffer;
};

/** The candidate of a fleet of thousands of applications. */
const MAX_CANDIDATE_BYTES = 64 << 20;

/** What of a channel waits; undefined: nothing. @throws FleetError BUNDLE_FORMAT, SCHEMA, MISSING_BLOB ... where it is damaged */
export const readAwaiting = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
): Promise<Awaiting | undefined> => {
  const documents = await readDocuments(layout, awaitingReference(channel));
  if (documents.length === 0) return undefined;
  const what = `the statement of ${formatChannel(channel)} that waits in ${layout.directory}`;
  const [first, ...more] = await statementFiles(layout.blobs, documents, 'bundle');
  const kept = documents.find(({ role }) => role === 'candidate');
  const candidate = kept && (await readBlob(layout.blobs, kept.digest, MAX_CANDIDATE_BYTES));
  if (!first || !candidate) throw new FleetError('SCHEMA', `${what} is not whole`);
  const { payload } = parseEnvelope(first, what);
  const { subjects, predicate } = parseStatement(payload, what);
  const [bundle] = subjects;
  if (!bundle) throw new FleetError('SCHEMA', `${what} has no subject`);
  const files = [first, ...more].filter((file) => parseEnvelope(file, what).payload.equals(payload));
  return {
    channel,
    bundle: bundle.digest,
    payload,
    predicate: parseDocument('bundle-predicate', predicate, what),
    files: countedUnder(files, root.roles.bundle, what),
    candidate,
  };
};

/** Writes it down. @returns the index entry */
export const writeAwaiting = async (
  layout: Layout,
  { channel, bundle, files, candidate }: Pick<Awaiting, 'channel' | 'bundle' | 'files' | 'candidate'>,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const artifact = await writeArtifact(layout, AWAITING_ARTIFACT, [
    ...bundleStatementDocuments(channel, bundle, files),
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
  ]);
  return new Map([[awaitingReference(channel), artifact]]);
};

/** The channels of which something waits, as the index has them: sorted. */
export const awaitingChannels = ({ manifests }: Layout): readonly Channel[] =>
  manifests.flatMap((entry) => {
    const [, environment, clusterType] = /^([^/]+)\/([^/]+):awaiting$/.exec(referenceOf(entry) ?? '') ?? [];
    return isName(environment) && isName(clusterType) ? [{ environment, clusterType }] : [];
  });

export const signersOf = ({ files }: Pick<Awaiting, 'files'>): readonly string[] => [
  ...new Set(files.map((file) => parseEnvelope(file, 'a bundle statement').hint)),
];
