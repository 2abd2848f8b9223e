import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import type { BundlePredicate } from '#bundles/statements/predicates';
import { encodeStatement } from '#bundles/statements/verify-statement';

/**
 * Who built this bundle from what, as all of its signers sign it: the one place for commits, builder, time and held reasons,
 * so that they change no digest.
 */
export const encodeBundleStatement = (bundle: Digest, predicate: BundlePredicate): Buffer =>
  encodeStatement([{ name: 'bundle', digest: bundle }], PREDICATES.bundle, predicate);
