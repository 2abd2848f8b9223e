import type { BundleKind } from '#bundles/names';
import { type Digest, digestOf } from '#bundles/digest';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { ReleasePredicate } from '#bundles/formats/statements/predicates';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signNewer } from './sign-newer.ts';

/** Content of a release, and the evidence that a remote signer verifies before it signs (docs/signing.md). */
export type ReleaseContent = {
  readonly bundles: readonly { readonly kind: BundleKind; readonly digest: Digest }[];
  /** The revocation list, canonical JSON. */
  readonly revocations: Uint8Array;
  /** Signature files of the bundle statements. */
  readonly bundleStatements: readonly Uint8Array[];
  /** Signature files of the previous release; empty for the first. */
  readonly previous: readonly Uint8Array[];
};

export type SignedRelease = { readonly version: number; readonly statement: Buffer };

/**
 * Signs the statement that a channel is at these bundles from now on.
 * @param predicate its version is the first one to try (signNewer)
 * @throws FleetError NOT_NEWER, APPROVAL_MISSING, SIGNER_UNREACHABLE from a remote signer
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
    const payload = statementPayload(subjects, 'release', { ...predicate, version });
    return { version, statement: await signPayload(payload, key, evidence) };
  });
};
