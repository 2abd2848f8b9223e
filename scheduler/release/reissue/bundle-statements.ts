import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { type RoleKeys, verifyEnvelope, verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';

/** Signature files of a bundle's statement that a release carries, not verified. */
export const readBundleStatements = async (
  layout: Layout,
  { documents }: StoredRelease,
  bundle: Digest,
): Promise<readonly Buffer[]> => statementFiles(layout.blobs, documents, 'bundle', bundle);

/** The envelopes with a valid signature by a key of the role; others are dropped. */
export const validUnder = (envelopes: readonly Buffer[], role: RoleKeys, what: string): readonly Buffer[] =>
  envelopes.filter((bytes) => {
    try {
      return verifyEnvelope(bytes, role.keys, what) !== undefined;
    } catch (error) {
      if (isFleetError(error)) return false;
      throw error;
    }
  });

/** Whether the envelopes meet the role's threshold. */
export const meetThreshold = (envelopes: readonly Buffer[], role: RoleKeys, what: string): boolean => {
  try {
    return verifyStatement(envelopes, role, PREDICATES.bundle, what) !== undefined;
  } catch (error) {
    if (isFleetError(error)) return false;
    throw error;
  }
};

/**
 * Signature files of a bundle's statement that the newest root accepts. If a rotation left too few, the bundle key of this
 * key directory signs the same payload again, so that the bundle keeps its digest and the files of other signers stay valid.
 * Only a payload that verifies under an earlier root of the fleet is signed again.
 * @throws FleetError THRESHOLD if other signers are still needed, BUNDLE_UNSIGNED if no root accepts the statement,
 *   KEY_MISSING, UNKNOWN_KEY
 */
export const bundleStatements = async (
  layout: Layout,
  keys: KeyDirectory,
  from: StoredRelease,
  bundle: Digest,
): Promise<readonly Buffer[]> => {
  const what = `the statement of bundle ${shortDigest(bundle)}`;
  const found = await readBundleStatements(layout, from, bundle);
  const role = keys.root.roles.bundle;
  const counted = validUnder(found, role, what);
  if (meetThreshold(counted, role, what)) return counted;
  const payload = payloadOf(found, [...keys.roots].reverse(), bundle, what);
  const key = await keys.key('bundle');
  const others = counted.filter((bytes) => parseEnvelope(bytes, what).hint !== key.public.hint);
  const signed = [...others, await signPayload(payload, key)];
  if (meetThreshold(signed, role, what)) return signed;
  // Throws the precise reason: too few signatures, or a key that the root does not accept.
  verifyStatement(signed, role, PREDICATES.bundle, what);
  return signed;
};

/** The payload, verified under the newest root that accepts it. @param roots newest first @throws FleetError BUNDLE_UNSIGNED */
const payloadOf = (
  envelopes: readonly Buffer[],
  roots: readonly TrustRoot[],
  bundle: Digest,
  what: string,
): Buffer => {
  for (const { roles } of roots) {
    const counted = validUnder(envelopes, roles.bundle, what);
    if (!meetThreshold(counted, roles.bundle, what)) continue;
    const { payload, subjects } = verifyStatement(counted, roles.bundle, PREDICATES.bundle, what);
    if (subjects.some(({ digest }) => digest === bundle)) return payload;
  }
  throw new FleetError('BUNDLE_UNSIGNED', `no root of this fleet accepts the signatures of ${what}`, {
    subject: bundle,
    hint: 'Build it again: an unsigned bundle is never released',
  });
};
