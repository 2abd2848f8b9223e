import type { BundleKind } from '#bundles/bundle/config';
import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/statements/envelope';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import { encodeStatement } from '#bundles/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/key';
import { signNewer } from './sign-newer.ts';

/** What a release names, and what whoever holds the key elsewhere wants to see before it signs (docs/signing.md). */
export type ReleaseContent = {
  readonly bundles: readonly { readonly kind: BundleKind; readonly digest: Digest }[];
  /** The list of revocations itself. */
  readonly revocations: Uint8Array;
  /** Signature files of the bundles' statements. */
  readonly bundleStatements: readonly Uint8Array[];
  /** Signature files of the release before. */
  readonly previous: readonly Uint8Array[];
};

export type SignedRelease = { readonly version: number; readonly statement: Buffer };

/**
 * Channel C is at these bundles from now on.
 * @param predicate its version is the first that is tried (signNewer)
 */
export const signRelease = (
  { bundles, revocations, bundleStatements, previous }: ReleaseContent,
  predicate: ReleasePredicate,
  key: SigningKey,
): Promise<SignedRelease> => {
  const subjects = [
    ...bundles.map(({ kind, digest }) => ({ name: `bundle/${kind}`, digest })),
    { name: 'revocations', digest: digestOf(revocations) },
  ];
  const evidence = [...bundleStatements, revocations, ...previous];
  return signNewer(predicate.version, async (version) => {
    const payload = encodeStatement(subjects, PREDICATES.release, { ...predicate, version });
    return { version, statement: await signPayload(payload, key, evidence) };
  });
};
