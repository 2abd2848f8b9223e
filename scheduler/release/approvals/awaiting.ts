import { MAX_CANDIDATE_BYTES } from '#bundles/formats/candidate';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, referenceOf } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { readBlob } from '#bundles/formats/layout/verified';
import { AWAITING_ARTIFACT, CANDIDATE_JSON } from '#bundles/media-types';
import { type Channel, formatChannel, isName } from '#bundles/names';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import { parseDocument } from '#bundles/json/validate';
import { readDocuments, writeArtifact } from '../../load/releases/artifact.ts';
import { bundleStatementDocuments } from '../write/write-release.ts';
import { awaitingReference } from '../../load/releases/references.ts';
import { planDocument, readPlan, type StoredPlan } from '../rollout/plan-document.ts';
import { validUnder } from '../reissue/bundle-statements.ts';

/** A bundle that was built and still lacks signatures for a release (docs/signing.md). */
export type Awaiting = {
  readonly channel: Channel;
  readonly bundle: Digest;
  /** The exact bytes that each of its signers signs. */
  readonly payload: Buffer;
  readonly predicate: BundlePredicate;
  /** Signature files whose keys the newest root accepts, in the order they were stored. */
  readonly files: readonly Buffer[];
  readonly candidate: Buffer;
  /** The plan of its rollout, if the environment has a policy. */
  readonly plan: StoredPlan | undefined;
};

/**
 * Reads the bundle of a channel that awaits approval.
 * @returns undefined if there is none
 * @throws FleetError BUNDLE_FORMAT, SCHEMA, MISSING_BLOB, DIGEST_MISMATCH if the stored documents are damaged
 */
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
  if (!first || !candidate) throw new FleetError('SCHEMA', `${what} is not complete`);
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
    files: validUnder(files, root.roles.bundle, what),
    candidate,
    plan: await readPlan(layout, { documents }),
  };
};

/** Writes the record as an artifact of the layout. @returns its index entry by reference; the caller writes the index */
export const writeAwaiting = async (
  layout: Layout,
  { channel, bundle, files, candidate, plan }: Omit<Awaiting, 'payload' | 'predicate'>,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const artifact = await writeArtifact(layout, AWAITING_ARTIFACT, [
    ...bundleStatementDocuments(channel, bundle, files),
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
    ...(plan ? [planDocument(channel, plan)] : []),
  ]);
  return new Map([[awaitingReference(channel), artifact]]);
};

/** Channels with a bundle that awaits approval, in the order of the index. */
export const awaitingChannels = ({ manifests }: Layout): readonly Channel[] =>
  manifests.flatMap((entry) => {
    const [, environment, clusterType] = /^([^/]+)\/([^/]+):awaiting$/.exec(referenceOf(entry) ?? '') ?? [];
    return isName(environment) && isName(clusterType) ? [{ environment, clusterType }] : [];
  });

/** Hints of the keys that have signed, each once, in the order of the files. */
export const signersOf = ({ files }: Pick<Awaiting, 'files'>): readonly string[] => [
  ...new Set(files.map((file) => parseEnvelope(file, 'a bundle statement').hint)),
];
