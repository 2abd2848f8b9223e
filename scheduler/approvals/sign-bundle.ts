import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/layout/layout';
import type { Channel } from '#bundles/names';
import { signPayload } from '#bundles/statements/envelope';
import type { BundlePredicate } from '#bundles/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root';
import { encodeBundleStatement } from '../sign/encode-bundle-statement.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { type Awaiting, readAwaiting, signersOf } from './awaiting.ts';

export type BundleToSign = {
  readonly channel: Channel;
  readonly digest: Digest;
  readonly predicate: BundlePredicate;
  readonly candidate: Buffer;
};

export type SignedBundle = Pick<Awaiting, 'files' | 'candidate'>;

/**
 * The statement of a bundle, signed by this office's key. Where the same bundle waits already, what its signers signed stays as
 * it is, with the candidate it names: what an approver has signed is not thrown away because somebody builds again.
 */
export const signBundle = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, digest, predicate, candidate }: BundleToSign,
): Promise<SignedBundle> => {
  const waiting = await readAwaiting(layout, channel, keys.root);
  const kept = waiting?.bundle === digest ? waiting : undefined;
  const key = await keys.key('bundle');
  if (kept && signersOf(kept).includes(key.public.hint))
    return { files: kept.files, candidate: kept.candidate };
  const payload = kept?.payload ?? encodeBundleStatement(digest, predicate);
  return {
    files: [await signPayload(payload, key), ...(kept?.files ?? [])],
    candidate: kept?.candidate ?? candidate,
  };
};

/** Have as many of the root's bundle signers signed as it wants? */
export const isApproved = (signed: Pick<Awaiting, 'files'>, { roles }: TrustRoot): boolean =>
  signersOf(signed).length >= roles.bundle.threshold;
