import { type Digest, digestOf } from '#bundles/digest';
import { canonicalBytes } from '#bundles/json/canonical';
import type { PromotionPolicy } from '../../model/promotion.ts';

/** Digest by which a promotion names its policy. It covers the effective policy without the place of its file. */
export const policyDigest = ({ at: _, ...policy }: PromotionPolicy): Digest =>
  digestOf(canonicalBytes(policy));
