import { defined } from '#bundles/defined';
import type { TokenRow } from '../../store/tables.ts';
import type { Redeem } from '../enroll/enroll-agents.ts';
import type { EnrolmentOptions } from '../enroll/plan-enrolment.ts';
import { provenToken, useToken } from './redeem-token.ts';

/**
 * Terms of the token override those of the request. If the token has none, a known agent keeps its own. The channel of a token
 * was checked when the token was created.
 */
export const termsOfToken = (token: TokenRow, released: readonly string[] | undefined): EnrolmentOptions => ({
  ...(token.environment !== null && token.cluster_type !== null
    ? { channel: { environment: token.environment, clusterType: token.cluster_type } }
    : { released }),
  ...defined({
    labels: token.labels !== null ? (JSON.parse(token.labels) as Record<string, string>) : undefined,
  }),
  replaceKey: token.replace_key === 1,
  update: false,
  by: { reason: `one-time token ${token.id}` },
});

/** Redeems the tokens that requests on a medium prove. */
export const redeemOnMedium =
  (released: readonly string[] | undefined, now: Date): Redeem =>
  async (tx, proof, request) => {
    const token = await provenToken(tx, proof, request, now);
    return { terms: termsOfToken(token, released), use: () => useToken(tx, token, request, now) };
  };
