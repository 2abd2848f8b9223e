import { type Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/statements/envelope';
import type { BundlePredicate } from '#bundles/statements/predicates';
import { encodeStatement } from '#bundles/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/key';

/** Who built this bundle from what: the one place for commits, builder, time and held reasons, so that they change no digest. */
export const signBundle = (bundle: Digest, predicate: BundlePredicate, key: SigningKey): Promise<Buffer> =>
  signPayload(encodeStatement([{ name: 'bundle', digest: bundle }], PREDICATES.bundle, predicate), key);
