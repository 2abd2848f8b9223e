import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { type Awaiting, readAwaiting, signersOf } from './awaiting.ts';
import { statementPayload } from '#bundles/trust/statements/statement-payload';

export type BundleToSign = {
  readonly channel: Channel;
  readonly digest: Digest;
  readonly predicate: BundlePredicate;
  readonly candidate: Buffer;
};

export type SignedBundle = Pick<Awaiting, 'files' | 'candidate'>;

/**
 * Signs the statement of a bundle with the bundle key of this key directory. If the same bundle of the same promotion already awaits approval, its
 * statement, its candidate and the signatures collected so far are kept, so that a rebuild does not discard an approval.
 * @returns the signature files, and the candidate that the statement names
 * @throws FleetError KEY_MISSING; SCHEMA, MISSING_BLOB if the stored approval is damaged
 */
export const signBundle = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, digest, predicate, candidate }: BundleToSign,
): Promise<SignedBundle> => {
  const waiting = await readAwaiting(layout, channel, keys.root).catch((error: unknown) => {
    // One that no reader takes is replaced.
    if (isFleetError(error, 'SCHEMA')) return undefined;
    throw error;
  });
  const kept =
    waiting?.bundle === digest && hasSameStatement(waiting.predicate, predicate) ? waiting : undefined;
  const key = await keys.key('bundle');
  if (kept && signersOf(kept).includes(key.public.hint))
    return { files: kept.files, candidate: kept.candidate };
  const payload = kept?.payload ?? encodeBundleStatement(digest, predicate);
  return {
    files: [await signPayload(payload, key), ...(kept?.files ?? [])],
    candidate: kept?.candidate ?? candidate,
  };
};

/**
 * True if a statement has the same content about the chain as a new one. One with held assignments is replaced once there is
 * none.
 */
const hasSameStatement = (before: BundlePredicate, now: BundlePredicate): boolean =>
  before.shared === now.shared &&
  before.promoted === now.promoted &&
  before.siteLayers === now.siteLayers &&
  (before.held.length === 0 || now.held.length > 0);

/** Whether the number of signers meets the root's threshold for bundles. */
export const isApproved = (signed: Pick<Awaiting, 'files'>, { roles }: TrustRoot): boolean =>
  signersOf(signed).length >= roles.bundle.threshold;

/**
 * The statement payload that every bundle signer signs. Commits, builder, build time and held assignments are recorded here
 * and not in the bundle, so that they do not change its digest.
 */
const encodeBundleStatement = (bundle: Digest, predicate: BundlePredicate): Buffer =>
  statementPayload([{ name: 'bundle', digest: bundle }], 'bundle', predicate);
