import { isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES, SIGSTORE_BUNDLE, SUMMARIES_ARTIFACT } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeSummary, isPassed, type PassedBundle } from '#bundles/trust/statements/verification-summary';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import { type NewDocument, writeArtifact } from '../../../load/releases/artifact.ts';
import { bundlesOf } from '../../../load/releases/read-release.ts';
import { summariesReference } from '../../../load/releases/references.ts';
import type { Releases } from '../../../release/write/open-releases.ts';
import { readChannels } from '../facts/read-channels.ts';

/**
 * Signs a verification summary (SLSA) for each bundle that shows the promoted content in the environment before, and stores them beside the
 * releases. Without one for a bundle whose assignments are held.
 * @param statement the signed promotion
 * @param key the release key; a signer of an older version signs none
 */
export const writeSummaries = async (
  releases: Releases,
  keys: KeyDirectory,
  statement: Buffer,
  key: SigningKey,
): Promise<void> => {
  const layout = await releases.open();
  const what = 'the promotion';
  const { verified } = verifyUnder([statement], keys.roots, 'release', PREDICATES.promotion, what);
  const said = parseDocument('promotion-predicate', verified.predicate, what);
  const candidate = verified.subjects.find(({ name }) => name === 'candidate')?.digest;
  if (!candidate) return;
  const promotion = { payload: verified.digest, candidate, said };
  const documents: NewDocument[] = [];
  for (const { files, ...passed } of await readPassed(layout, keys, promotion)) {
    const { environment, clusterType } = passed.bundle.said;
    const bytes = await signed(encodeSummary(passed), key, [statement, ...files]);
    if (!bytes) return;
    const about = passed.bundle.digest;
    documents.push({ role: 'summary', mediaType: SIGSTORE_BUNDLE, environment, clusterType, about, bytes });
  }
  if (documents.length === 0) return;
  const artifact = await writeArtifact(layout, SUMMARIES_ARTIFACT, documents);
  await releases.point(new Map([[summariesReference(said.to, said.number), artifact]]));
};

/** Bundles of the environment with the signature files of their statements. */
const readPassed = async (
  layout: Layout,
  keys: KeyDirectory,
  promotion: PassedBundle['promotion'],
): Promise<readonly (PassedBundle & { readonly files: readonly Buffer[] })[]> => {
  const passed: (PassedBundle & { readonly files: readonly Buffer[] })[] = [];
  for (const { release } of await readChannels(layout, keys.roots, promotion.said.from)) {
    if (!release) continue;
    for (const digest of bundlesOf(release)) {
      const files = await statementFiles(layout.blobs, release.documents, 'bundle', digest);
      const what = `the statement of bundle ${digest}`;
      const read = verifyStatement(files, release.root.roles.bundle, PREDICATES.bundle, what);
      const said = parseDocument('bundle-predicate', read.predicate, what);
      const one = { promotion, bundle: { payload: read.digest, digest, said }, files };
      if (isPassed(one)) passed.push(one);
    }
  }
  return passed;
};

const signed = async (
  payload: Buffer,
  key: SigningKey,
  evidence: readonly Buffer[],
): Promise<Buffer | undefined> => {
  try {
    return await signPayload(payload, key, evidence);
  } catch (error) {
    if (isFleetError(error, 'PREDICATE_TYPE')) return undefined;
    throw error;
  }
};
