import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { hexOf } from '#bundles/digest';
import type {
  CertificateRenewal,
  EnrollAnswer,
  EnrollRequest,
  HubError,
  ReportAnswer,
  ReportHandover,
  SupportHandover,
} from '#bundles/formats/events/hub-api';
import { MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import type { Event } from '#bundles/formats/events/event';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { verifyReport } from '#bundles/trust/reports/report';
import { addDays, formatTime } from '#bundles/time';
import type { Authority } from '#bundles/trust/root/certificate';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '#bundles/trust/root/issue-certificate';
import { generatePrivateKey, loadSigningKey, type PublicKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';
import { createTestFleet, type TestFleet, writeTestMedium } from '../harness/fleets/signed-medium.ts';

/** The system's clock judges TLS certificates, so whatever speaks TLS in a test lives now. */
export const TODAY = new Date();

export type CertifiedFleet = TestFleet & { readonly authority: Authority };

const issuance = (now = TODAY) => ({ now, serial: randomBytes(16) });

/** A fleet whose root names an authority for its agents. */
export const createCertifiedFleet = async (): Promise<CertifiedFleet> => {
  const fleet = await createTestFleet('halden', addDays(TODAY, -20));
  const key = loadSigningKey(generatePrivateKey());
  const certificate = await createAuthority(fleet.name, key, issuance());
  const { keys } = fleet;
  const root = await createRoot(
    {
      fleet: fleet.name,
      version: 1,
      expires: addDays(fleet.epoch, 700),
      keys: {
        root: keys.officers.map((officer) => officer.public),
        bundle: [keys.bundle.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
      agentCertificates: [certificate],
    },
    keys.officers,
  );
  return { ...fleet, roots: [root], authority: { certificate, key } };
};

/** A small hub over real TLS: enrols, renews, takes reports. It can be made to fail in any way. */
export type HubServer = AsyncDisposable & {
  readonly url: string;
  /** '<METHOD> <path>' and the agent that the client certificate names. */
  readonly asked: string[];
  /** Every event taken, once each. */
  readonly events: Map<number, Event>;
  /** The statement of each report taken. */
  readonly reports: ReportPredicate[];
  readonly tokens: Set<string>;
  /** true: knows nothing of recipients, as hubs of before there were secrets. */
  forgetful: boolean;
  /** What came with each renewal. */
  readonly renewals: CertificateRenewal[];
  readonly support: Buffer[];
  /** Answers instead; false: lets it pass. */
  mischief: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Changes the answers on their way. */
  bend: ((path: string, answer: unknown) => unknown) | undefined;
  /** When the next certificates are issued, for short lives. */
  issuedAt: Date;
};

export const startHubServer = async (
  fleet: CertifiedFleet,
  folder: string,
  { host = 'localhost', stranger = false } = {},
): Promise<HubServer> => {
  const pem = generatePrivateKey();
  const server = loadSigningKey(pem);
  const authority = stranger ? (await createCertifiedFleet()).authority : fleet.authority;
  const certificate = await issueServerCertificate([host], server.public, authority, issuance());
  const agents = new Map<string, PublicKey>();
  const events = new Map<number, Event>();

  const enroll = async ({ token, request }: EnrollRequest): Promise<EnrollAnswer | HubError> => {
    if (!it.tokens.has(token))
      return { code: 'TOKEN_INVALID', message: 'the token is unknown', hint: 'Ask for another' };
    const { site, agent, key } = parseCertificateRequest(request.request);
    agents.set(`${site}/${agent}`, key);
    const medium = await writeTestMedium(join(folder, `answer-${agents.size}-${it.asked.length}`), fleet, {
      site: {
        site,
        version: 1,
        agents: [
          {
            name: agent,
            key: key.pem,
            channel: request.channel,
            ...(it.forgetful || request.recipient === undefined ? {} : { recipient: request.recipient }),
          },
        ],
      },
    });
    const { documents } = JSON.parse(readFileSync(join(medium, MEDIUM_FILE), 'utf8')) as Medium;
    return {
      ...(await issue(request.request)),
      documents: documents.map((document) => ({
        ...document,
        bytes: readFileSync(join(medium, 'blobs/sha256', hexOf(document.digest))).toString('base64'),
      })),
    };
  };
  const renew = (renewal: CertificateRenewal) => {
    it.renewals.push(renewal);
    return issue(renewal.request);
  };
  const issue = async (request: string) => {
    const subject = parseCertificateRequest(request);
    const certificate = await issueClientCertificate(
      subject,
      subject.key,
      fleet.authority,
      issuance(it.issuedAt),
    );
    return { certificate, authority: fleet.authority.certificate };
  };
  const takeReport = async (
    agent: string,
    { statement, events: text }: ReportHandover,
  ): Promise<ReportAnswer> => {
    const report = { events: Buffer.from(text), statement: Buffer.from(JSON.stringify(statement)) };
    const verified = verifyReport(report, agents.get(agent) as PublicKey, 'a report');
    for (const event of verified.events) events.set(event.seq, event);
    it.reports.push(verified.predicate);
    const { from, to, lastHash: head } = verified.predicate;
    const receipt = await signReceipt(
      verified.digest,
      { fleet: fleet.name, agent, from, to, head, time: formatTime(TODAY) },
      fleet.keys.receipt,
    );
    return { receipts: [JSON.parse(receipt.toString()) as ReportAnswer['receipts'][number]] };
  };
  const answer = async (
    path: string,
    agent: string | undefined,
    body: string,
  ): Promise<object | undefined> => {
    switch (path) {
      case '/v1/roots':
        return { roots: fleet.roots.map((root) => root.toString('base64')) };
      case '/v1/enroll':
        return enroll(JSON.parse(body) as EnrollRequest);
      case '/v1/certificate':
        return agent ? renew(JSON.parse(body) as CertificateRenewal) : NOBODY;
      case '/v1/reports':
        return agent ? takeReport(agent, JSON.parse(body) as ReportHandover) : NOBODY;
      case '/v1/presence':
        return agent ? undefined : NOBODY;
      case '/v1/support':
        if (!agent) return NOBODY;
        it.support.push(Buffer.from((JSON.parse(body) as SupportHandover).bundle, 'base64'));
        return undefined;
      default:
        return { code: 'USAGE', message: 'there is no such page' };
    }
  };
  const respond = async (request: IncomingMessage, response: ServerResponse, agent: string | undefined) => {
    const { url = '' } = request;
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const said = await answer(url, agent, Buffer.concat(chunks).toString());
    if (said === undefined) {
      response.writeHead(204).end();
      return;
    }
    const bent = it.bend ? it.bend(url, said) : said;
    response.writeHead('code' in said ? 403 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(bent));
  };
  const listening = createServer(
    {
      key: pem,
      cert: certificate,
      ca: [fleet.authority.certificate],
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
    },
    (request, response) => {
      const { url = '', method } = request;
      const raw = (request.socket as TLSSocket).getPeerCertificate().raw as Buffer | undefined;
      const uri = raw && new X509Certificate(raw).subjectAltName;
      const agent = uri?.replace(/^URI:fleet:\/\/[^/]+\/site\/([^/]+)\/agent\/(.+)$/, '$1/$2');
      it.asked.push(`${method} ${url}${agent ? ` as ${agent}` : ''}`);
      if (it.mischief?.(request, response)) return;
      void respond(request, response, agent);
    },
  );
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const it: HubServer = {
    url: `https://localhost:${(listening.address() as AddressInfo).port}`,
    asked: [],
    events,
    tokens: new Set(['token-1']),
    renewals: [],
    reports: [],
    support: [],
    forgetful: false,
    mischief: undefined,
    bend: undefined,
    issuedAt: TODAY,
    [Symbol.asyncDispose]: async () => {
      listening.closeAllConnections();
      await new Promise((resolve) => listening.close(resolve));
    },
  };
  return it;
};

const NOBODY: HubError = { code: 'CERTIFICATE_INVALID', message: 'a client certificate is needed' };
