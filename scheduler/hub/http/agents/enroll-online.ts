import { randomBytes } from 'node:crypto';
import type { CarriedDocument, EnrollAnswer } from '#bundles/formats/events/hub-api';
import { issueClientCertificate } from '#bundles/trust/root/issue-certificate';
import { parseDocument } from '#bundles/json/validate';
import { enrollAgent, issueIfChanged } from '../../sites/enroll/enroll-agents.ts';
import type { EnrolmentStep } from '../../sites/enroll/plan-enrolment.ts';
import { checkRequest, type EnrolmentRequest } from '../../sites/enroll/read-requests.ts';
import { readReleased } from '../../sites/check-released.ts';
import { siteDocuments } from '../../sites/site-documents.ts';
import type { SiteRow } from '../../store/tables.ts';
import { composeAgent } from '../../sites/layers/compose-agent.ts';
import { checkToken } from '../../sites/tokens/check-token.ts';
import { redeemToken } from '../../sites/tokens/redeem-token.ts';
import { termsOfToken } from '../../sites/tokens/token-terms.ts';
import { toDocument } from '../../../load/releases/artifact.ts';
import type { Context } from '../context.ts';

export type EnrolledOnline = {
  readonly answer: EnrollAnswer;
  readonly request: EnrolmentRequest;
  readonly step: EnrolmentStep['kind'];
  /** Public id of the token. */
  readonly token: string;
};

type EnrolmentContext = Pick<Context, 'hub' | 'signer' | 'authority' | 'clock'>;

/**
 * Enrols an agent that has a one-time token. The token is redeemed, the key registered and the site statement issued in one
 * transaction, with the values that its layers give the agent. A repeated request with the same token and key succeeds again.
 * @throws FleetError TOKEN_INVALID, SCHEMA, WRONG_FLEET, REQUEST_INVALID, REVOKED, ALREADY_ENROLLED, CHANNEL_MISSING, ENROLMENT_WAITS
 */
export const enrollOnline = async (body: unknown, context: EnrolmentContext): Promise<EnrolledOnline> => {
  const { hub, signer, authority, clock } = context;
  const now = clock();
  const { fleet } = hub.keys.root;
  const asked = parseDocument('hub-enroll-request', body, 'the request');
  // A cheap check first: without a valid token no signature is verified.
  await checkToken(hub.store.db, asked.token, 'enroll', now);
  const request = checkRequest(asked.request, 'the request', fleet, 'network');
  const released = await readReleased(hub.layout);
  const { step, site, token } = await hub.store.transact(async (tx) => {
    const token = await redeemToken(tx, asked.token, request, now);
    const terms = {
      ...termsOfToken(token, released),
      factLabels: hub.factLabels,
      composeAgent: composeAgent(hub, now),
    };
    const enrolment = await enrollAgent(tx, request, terms, now);
    const site = await issueIfChanged(tx, request.site, [enrolment], signer, now);
    return { step: enrolment.step, site, token };
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

const carry = async (site: SiteRow, { hub }: EnrolmentContext): Promise<readonly CarriedDocument[]> => {
  const { documents } = await siteDocuments(site.name, { db: hub.store.db, keys: hub.keys });
  return documents.map((document) => ({
    ...toDocument(document),
    bytes: document.bytes.toString('base64'),
  }));
};
