import { randomBytes } from 'node:crypto';
import type { CarriedDocument, EnrollAnswer, EnrollRequest } from '#bundles/hub/hub-api';
import { issueClientCertificate } from '#bundles/trust/issue-certificate';
import { parseDocument } from '#bundles/validate';
import { enrollAgent, issueIfChanged } from '../hub/enroll/enroll-agents.ts';
import type { EnrolmentOptions, EnrolmentStep } from '../hub/enroll/plan-enrolment.ts';
import { checkRequest, type EnrolmentRequest } from '../hub/enroll/read-requests.ts';
import { readReleased } from '../hub/sites/check-released.ts';
import { siteDocuments } from '../hub/sites/site-documents.ts';
import type { SiteRow, TokenRow } from '../hub/store/tables.ts';
import { checkToken } from '../hub/tokens/check-token.ts';
import { redeemToken } from '../hub/tokens/redeem-token.ts';
import { toDocument } from '../publish/artifact.ts';
import type { Context } from './context.ts';

export type EnrolledOnline = {
  readonly answer: EnrollAnswer;
  readonly request: EnrolmentRequest;
  readonly step: EnrolmentStep['kind'];
  /** By its public name. */
  readonly token: string;
};

/**
 * An agent with a one-time token becomes one of its site: token, key and statement in one transaction. Asked again with the
 * same token and key, it gets the same answer.
 * @throws FleetError TOKEN_INVALID, SCHEMA, WRONG_FLEET, REQUEST_INVALID, REVOKED, ALREADY_ENROLLED, CHANNEL_MISSING
 */
export const enrollOnline = async (body: unknown, context: Context): Promise<EnrolledOnline> => {
  const { hub, signer, authority, clock } = context;
  const now = clock();
  const { fleet } = hub.keys.root;
  const asked = parseDocument<EnrollRequest>('hub-enroll-request', body, 'the request');
  // First, and cheap: nobody without a token gets us to look at signatures.
  await checkToken(hub.store.db, asked.token, 'enroll', now);
  const request = checkRequest(asked.request, 'the request', fleet);
  const released = await readReleased(hub.layout);
  const { step, site, token } = await hub.store.transact(async (tx) => {
    const token = await redeemToken(tx, asked.token, request, now);
    const step = await enrollAgent(tx, request, termsOf(token, released), now);
    const site = await issueIfChanged(tx, request.site, [{ request, step }], signer, now);
    return { step, site, token };
  });
  const certificate = await issueClientCertificate(
    { fleet, site: request.site, agent: request.agent },
    request.key,
    authority,
    { now, serial: randomBytes(16) },
  );
  return {
    answer: { certificate, authority: authority.certificate, documents: await carry(site, context) },
    request,
    step: step.kind,
    token: token.id,
  };
};

/**
 * What the token says goes over what the request says; a token without a word leaves a known agent where it is. A token's channel was
 * judged when it was made.
 */
const termsOf = (token: TokenRow, released: readonly string[]): EnrolmentOptions => ({
  ...(token.environment !== null && token.cluster_type !== null
    ? { channel: { environment: token.environment, clusterType: token.cluster_type } }
    : { released }),
  ...(token.labels !== null && { labels: JSON.parse(token.labels) as Record<string, string> }),
  replaceKey: token.replace_key === 1,
  update: false,
});

const carry = async (site: SiteRow, { hub }: Context): Promise<readonly CarriedDocument[]> => {
  const { documents } = await siteDocuments(site.name, { db: hub.store.db, keys: hub.keys });
  return documents.map((document) => ({
    ...toDocument(document),
    bytes: document.bytes.toString('base64'),
  }));
};
