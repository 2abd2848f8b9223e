import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { parseEnvelope, signPayload } from '#bundles/statements/envelope';
import { type RoleKeys, verifyEnvelope, verifyStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import type { PublishedRelease } from '../publish/read-release.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';

/** The bundles that a release names, by their digests. */
export const bundlesOf = ({ subjects }: Pick<PublishedRelease, 'subjects'>): readonly Digest[] =>
  [...subjects].flatMap(([name, digest]) => (name.startsWith('bundle/') ? [digest] : []));

/** Signature files about a bundle that came with a release, as they lie there. */
export const readBundleStatements = async (
  layout: Layout,
  { documents }: PublishedRelease,
  bundle: Digest,
): Promise<readonly Buffer[]> => statementFiles(layout.blobs, documents, 'bundle', bundle);

/** Those whose key the root still lets sign bundles. */
export const countedUnder = (envelopes: readonly Buffer[], role: RoleKeys, what: string): readonly Buffer[] =>
  envelopes.filter((bytes) => {
    try {
      return verifyEnvelope(bytes, role.keys, what) !== undefined;
    } catch (error) {
      if (isFleetError(error)) return false;
      throw error;
    }
  });

export const areEnough = (envelopes: readonly Buffer[], role: RoleKeys, what: string): boolean => {
  try {
    return verifyStatement(envelopes, role, PREDICATES.bundle, what) !== undefined;
  } catch (error) {
    if (isFleetError(error)) return false;
    throw error;
  }
};

/**
 * Signatures of a bundle's statement that count under the newest root. Where a rotation has left too few, this office's
 * key signs the very same bytes again: the bundle keeps its digest, and other signers' files stay good (security: M of N
 * signatures are N files over one payload). What is signed again was vouched for by the root of its own time.
 * @throws FleetError THRESHOLD where others must sign too; KEY_MISSING, and those of verifyStatement
 */
export const bundleStatements = async (
  layout: Layout,
  keys: KeyDirectory,
  from: PublishedRelease,
  bundle: Digest,
): Promise<readonly Buffer[]> => {
  const what = `the statement of bundle ${shortDigest(bundle)}`;
  const found = await readBundleStatements(layout, from, bundle);
  const role = keys.root.roles.bundle;
  const counted = countedUnder(found, role, what);
  if (areEnough(counted, role, what)) return counted;
  const payload = payloadOf(found, [...keys.roots].reverse(), bundle, what);
  const key = await keys.key('bundle');
  const others = counted.filter((bytes) => parseEnvelope(bytes, what).hint !== key.public.hint);
  const signed = [...others, await signPayload(payload, key)];
  if (areEnough(signed, role, what)) return signed;
  // Says whether it is the number of keys, or this key.
  verifyStatement(signed, role, PREDICATES.bundle, what);
  return signed;
};

const payloadOf = (
  envelopes: readonly Buffer[],
  roots: readonly TrustRoot[],
  bundle: Digest,
  what: string,
): Buffer => {
  for (const { roles } of roots) {
    const counted = countedUnder(envelopes, roles.bundle, what);
    if (!areEnough(counted, roles.bundle, what)) continue;
    const { payload, subjects } = verifyStatement(counted, roles.bundle, PREDICATES.bundle, what);
    if (subjects.some(({ digest }) => digest === bundle)) return payload;
  }
  throw new FleetError('BUNDLE_UNSIGNED', `no root of this fleet vouches for ${what}`, {
    subject: bundle,
    hint: 'Build it again: nothing unsigned is ever released',
  });
};
