import type { BundleKind } from '#bundles/bundle/config';
import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/statements/envelope';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import { encodeStatement } from '#bundles/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/key';

export type ReleaseSubjects = {
  readonly bundles: readonly { readonly kind: BundleKind; readonly digest: Digest }[];
  readonly revocations: Digest;
};

/** Channel C is at these bundles from now on. */
export const signRelease = (
  subjects: ReleaseSubjects,
  predicate: ReleasePredicate,
  key: SigningKey,
): Promise<Buffer> =>
  signPayload(
    encodeStatement(
      [
        ...subjects.bundles.map(({ kind, digest }) => ({ name: `bundle/${kind}`, digest })),
        { name: 'revocations', digest: subjects.revocations },
      ],
      PREDICATES.release,
      predicate,
    ),
    key,
  );
