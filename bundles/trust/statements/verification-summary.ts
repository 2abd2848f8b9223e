import { type Digest, hexOf } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import type { BundlePredicate, PromotionPredicate } from '../../formats/statements/predicates.ts';
import { defined } from '../../defined.ts';
import { PREDICATES, SLSA_SUMMARY } from '../../media-types.ts';
import { encodeStatement } from './verify-statement.ts';

/** A promotion, and a bundle of the environment that it promotes from. Both statements are verified. */
export type PassedBundle = {
  readonly promotion: {
    readonly payload: Digest;
    readonly candidate: Digest;
    readonly said: PromotionPredicate;
  };
  readonly bundle: { readonly payload: Digest; readonly digest: Digest; readonly said: BundlePredicate };
};

/** Whether the bundle shows the promoted content in its environment: nothing of it is held. */
export const isPassed = ({ promotion, bundle }: PassedBundle): boolean =>
  bundle.said.fleet === promotion.said.fleet &&
  bundle.said.environment === promotion.said.from &&
  bundle.said.shared === promotion.said.shared &&
  bundle.said.held.length === 0;

/**
 * The payload of a verification summary (SLSA VSA v1): the bundle, and the candidate that it was made from, passed the environment. It
 * follows from both statements alone, so that a signer can make it again.
 */
export const encodeSummary = ({ promotion, bundle }: PassedBundle): Buffer => {
  const { fleet, from, to, policy, time } = promotion.said;
  const { environment, clusterType, kind } = bundle.said;
  return encodeStatement(
    [
      { name: `bundle/${environment}/${clusterType}/${kind}`, digest: bundle.digest },
      { name: 'candidate', digest: promotion.candidate },
    ],
    SLSA_SUMMARY,
    {
      verifier: { id: `urn:fleet-ferry:fleet:${fleet}` },
      timeVerified: time,
      resourceUri: `urn:fleet-ferry:environment:${fleet}:${from}`,
      policy: defined({
        uri: `urn:fleet-ferry:gate:${fleet}:${from}:${to}`,
        digest: policy === null ? undefined : { sha256: hexOf(policy) },
      }),
      inputAttestations: [
        { uri: PREDICATES.promotion, digest: { sha256: hexOf(promotion.payload) } },
        { uri: PREDICATES.bundle, digest: { sha256: hexOf(bundle.payload) } },
      ],
      verificationResult: 'PASSED',
      verifiedLevels: [`FLEET_FERRY_PASSED_${from.toUpperCase().replaceAll('-', '_')}`],
      slsaVersion: '1.1',
    },
  );
};

/** SHA-256 in hexadecimal of the statements that a summary follows from, in its order; undefined for an input without one. */
export const inputsOf = (predicate: unknown): readonly unknown[] => {
  const inputs = isRecord(predicate) ? predicate['inputAttestations'] : undefined;
  return Array.isArray(inputs)
    ? inputs.map((one: unknown) =>
        isRecord(one) && isRecord(one['digest']) ? one['digest']['sha256'] : undefined,
      )
    : [];
};
