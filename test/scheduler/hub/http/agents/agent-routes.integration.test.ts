import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  CERTIFICATE_PATH,
  type CertificateAnswer,
  ENROLL_PATH,
  REPORTS_PATH,
  type ReportAnswer,
} from '#bundles/formats/events/hub-api';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { addDays } from '#bundles/time';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import { issueServerCertificate } from '#bundles/trust/root/issue-certificate';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { chain, happenings, NOW, reportOf, testAgent } from '../../test-hub.ts';
import {
  type Answer,
  csrOf,
  enrollBody,
  forgedCertificate,
  hand,
  handover,
  join,
  type TestServer,
  testServer,
} from '../../serve/test-server.ts';

const refusalOf = ({ status, body }: Answer) => ({
  status,
  code: (body as { code?: string } | undefined)?.code,
});
/** Code and message of each alarm about an agent. */
const alarmsOf = async ({ hub }: TestServer) =>
  (await hub.store.db.selectFrom('alarm').selectAll().execute()).map(({ code, message }) => [code, message]);

const receiptIn = (made: TestServer, answer: Answer, agent: string) => {
  const { receipts } = answer.body as ReportAnswer;
  return receipts.map((receipt) =>
    verifyReceipt(Buffer.from(JSON.stringify(receipt)), made.hub.keys.root, agent),
  );
};

describe('a report over the network', () => {
  it('H7: is acknowledged in the answer, and again when it comes again', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const lines = chain(agent, happenings(5));
    const report = await reportOf(agent, lines);
    const first = await hand(made, report, certificate);
    expect(first.status).toBe(200);
    expect(receiptIn(made, first, agent.id)).toMatchObject([{ agent: agent.id, from: 1, to: 5 }]);
    const again = await hand(made, report, certificate);
    expect(refusalOf(again)).toEqual({ status: 200, code: undefined });
    expect(again.body).toEqual(first.body);
    const { events } = await made.hub.store.db
      .selectFrom('event')
      .select(({ fn }) => fn.countAll().as('events'))
      .executeTakeFirstOrThrow();
    expect(events).toBe(5);
    expect(await made.hub.store.db.selectFrom('report').select('source').execute()).toEqual([
      { source: 'network' },
    ]);
  });

  it('behind a gap is stored, and acknowledged when the gap is closed', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const lines = chain(agent, happenings(6));
    const late = await hand(made, await reportOf(agent, lines, 4, 6), certificate);
    expect(late.body).toEqual({ receipts: [] });
    const early = await hand(made, await reportOf(agent, lines, 1, 3), certificate);
    expect(receiptIn(made, early, agent.id)).toMatchObject([{ to: 6 }]);
  });

  it('H6: that tells another story is kept apart, flagged, and answered with 409', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    await hand(made, await reportOf(agent, chain(agent, happenings(3))), certificate);
    const other = chain(agent, [{ type: 'operator', message: 'another life' }, ...happenings(3)]);
    expect(refusalOf(await hand(made, await reportOf(agent, other), certificate))).toEqual({
      status: 409,
      code: 'REPORT_CHAIN',
    });
    expect(await made.hub.store.db.selectFrom('alarm').select('code').execute()).toEqual([
      { code: 'REPORT_CHAIN' },
    ]);
  });

  it('H6: with a broken chain inside is refused', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const [first = '', , third = ''] = chain(agent, happenings(3));
    const report = await reportOf(agent, [first, third]);
    expect(refusalOf(await hand(made, report, certificate))).toEqual({ status: 409, code: 'REPORT_CHAIN' });
    expect(await made.hub.store.db.selectFrom('event').selectAll().execute()).toEqual([]);
  });

  it('H6: that was edited is refused', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const { statement, events } = await reportOf(agent, chain(agent, happenings(2)));
    const edited = Buffer.from(events.toString().replace('step 1', 'step 9'));
    expect(refusalOf(await hand(made, { statement, events: edited }, certificate))).toEqual({
      status: 400,
      code: 'REPORT_INVALID',
    });
  });

  it('H5: of one agent is refused from another', async () => {
    await using made = await testServer();
    const [one, two] = [testAgent('plant-7/press-1'), testAgent('plant-8/press-1')];
    await join(made, one);
    const certificate = await join(made, two);
    const report = await reportOf(one, chain(one, happenings(2)));
    expect(refusalOf(await hand(made, report, certificate))).toEqual({ status: 403, code: 'WRONG_SITE' });
    const signedByOther = await reportOf({ ...two, key: one.key }, chain(two, happenings(2)));
    expect(refusalOf(await hand(made, signedByOther, certificate))).toEqual({
      status: 400,
      code: 'UNKNOWN_KEY',
    });
  });

  it.each([
    ['that is not a report', { statement: [], events: '' }, 'SCHEMA'],
    ['without events', { statement: {} }, 'SCHEMA'],
    ['that is not JSON', '{"statement":{},', 'BAD_JSON'],
    ['with a key twice', '{"statement":{},"events":"","events":""}', 'BAD_JSON'],
    ['that is nested too deep', `{"statement":${'['.repeat(40)}${']'.repeat(40)},"events":""}`, 'TOO_DEEP'],
  ])('%s is refused with a code', async (_, body, code) => {
    await using made = await testServer();
    const certificate = await join(made, testAgent('plant-7/press-1'));
    expect(refusalOf(await made.post(REPORTS_PATH, body, certificate))).toEqual({ status: 400, code });
  });

  it('with four megabytes of events is read, and one with nine is refused unread: TOO_LARGE', async () => {
    await using made = await testServer();
    const certificate = await join(made, testAgent('plant-7/press-1'));
    const most = { statement: {}, events: 'x'.repeat(4 << 20) };
    expect((await made.post(REPORTS_PATH, most, certificate)).status).toBe(400);
    const body = { statement: {}, events: 'x'.repeat(9 << 20) };
    expect(refusalOf(await made.post(REPORTS_PATH, body, certificate))).toEqual({
      status: 413,
      code: 'TOO_LARGE',
    });
  });
});

describe('a path for agents is closed', () => {
  const report = async () => {
    const agent = testAgent('plant-7/press-1');
    return handover(await reportOf(agent, chain(agent, happenings(1))));
  };

  it('H1: without a certificate', async () => {
    await using made = await testServer();
    for (const path of [REPORTS_PATH, CERTIFICATE_PATH])
      expect(refusalOf(await made.post(path, await report()))).toEqual({
        status: 401,
        code: 'CERTIFICATE_INVALID',
      });
  });

  it('H1: to the certificate of a server', async () => {
    await using made = await testServer();
    const { authority } = made.context;
    const pem = await issueServerCertificate(['localhost'], testAgent('a/b').key.public, authority, {
      now: NOW,
      serial: Buffer.alloc(16, 1),
    });
    expect(refusalOf(await made.post(REPORTS_PATH, await report(), pem))).toEqual({
      status: 401,
      code: 'CERTIFICATE_INVALID',
    });
  });

  it('H2: to an agent that was never enrolled', async () => {
    await using made = await testServer();
    const pem = await forgedCertificate(made, testAgent('plant-7/press-1'));
    expect(refusalOf(await made.post(REPORTS_PATH, await report(), pem))).toEqual({
      status: 403,
      code: 'AGENT_UNKNOWN',
    });
  });

  it('H3: to a revoked agent at once, and its connection is closed', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const signed = await reportOf(agent, chain(agent, happenings(1)));
    expect((await hand(made, signed, certificate)).status).toBe(200);
    await revokeAgent(made.hub.store, agent.id, made.context.signer, NOW);
    const answer = await hand(made, signed, certificate);
    expect(refusalOf(answer)).toEqual({ status: 403, code: 'REVOKED' });
    expect(answer.headers).toMatchObject({ connection: 'close' });
    const renewal = await made.post(CERTIFICATE_PATH, { request: await csrOf(agent) }, certificate);
    expect(refusalOf(renewal)).toEqual({ status: 403, code: 'REVOKED' });
  });

  it('H2, H4: to the key that was replaced, and to an ended certificate', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const stranger = await forgedCertificate(made, testAgent(agent.id));
    expect(refusalOf(await made.post(REPORTS_PATH, await report(), stranger))).toEqual({
      status: 403,
      code: 'REVOKED',
    });
    made.setNow(addDays(NOW, 91));
    expect(refusalOf(await made.post(REPORTS_PATH, await report(), certificate))).toEqual({
      status: 401,
      code: 'CERTIFICATE_INVALID',
    });
  });
});

describe('a certificate', () => {
  const read = (made: TestServer, { body }: Answer, now = NOW) =>
    checkClientCertificate(new X509Certificate((body as CertificateAnswer).certificate), {
      fleet: 'acme',
      authorities: made.hub.keys.root.agentCertificates,
      now,
    });

  it('is renewed for the same key, also after it expired, so that a disconnected agent recovers without a person', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const later = addDays(NOW, 200);
    made.setNow(later);
    const answer = await made.post(CERTIFICATE_PATH, { request: await csrOf(agent) }, certificate);
    expect(answer.status).toBe(200);
    const renewed = read(made, answer, later);
    expect(renewed.key.pem).toBe(agent.key.public.pem);
    expect(renewed.expires).toEqual(addDays(later, 90));
    expect(made.changes()).toBe(1);
  });

  it('H8: is not issued for another key: an alarm, and the right machine goes on', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const request = await csrOf(testAgent(agent.id));
    for (const _ of [1, 2])
      expect(refusalOf(await made.post(CERTIFICATE_PATH, { request }, certificate))).toEqual({
        status: 409,
        code: 'ALREADY_ENROLLED',
      });
    expect(await alarmsOf(made)).toEqual([
      ['KEY_COPIED', expect.stringMatching(/^a certificate for another key, [0-9a-f]{64}, was asked for$/)],
    ]);
    // The machine that was copied: its report, its next certificate, no new statement.
    const report = await reportOf(agent, chain(agent, happenings(2)));
    expect((await hand(made, report, certificate)).status).toBe(200);
    const renewed = await made.post(CERTIFICATE_PATH, { request: await csrOf(agent) }, certificate);
    expect(read(made, renewed).key.pem).toBe(agent.key.public.pem);
    expect(made.changes()).toBe(1);
  });

  it('H8: is not issued with a replaced key for a key of its own, only for the present one', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const old = await join(made, agent);
    const next = testAgent(agent.id);
    const token = await made.token({ site: agent.site, replaceKey: true });
    expect((await made.post(ENROLL_PATH, await enrollBody(token, next))).status).toBe(200);
    const other = await made.post(CERTIFICATE_PATH, { request: await csrOf(testAgent(agent.id)) }, old);
    expect(refusalOf(other)).toEqual({ status: 403, code: 'REVOKED' });
    expect((await made.post(CERTIFICATE_PATH, { request: await csrOf(next) }, old)).status).toBe(200);
    const report = await reportOf(next, chain(next, happenings(2)));
    expect(refusalOf(await hand(made, report, old))).toEqual({ status: 403, code: 'REVOKED' });
  });

  it('H8: that was replaced and comes back after an hour is an alarm, and neither machine is locked out', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const first = await join(made, agent);
    const renew = async (certificate: string) =>
      (await made.post(CERTIFICATE_PATH, { request: await csrOf(agent) }, certificate))
        .body as CertificateAnswer;
    const { certificate: second } = await renew(first);
    const lines = chain(agent, happenings(3));
    expect((await hand(made, await reportOf(agent, lines, 1, 1), second)).status).toBe(200);
    // A request that began before the answer to the renewal.
    expect((await hand(made, await reportOf(agent, lines, 2, 2), first)).status).toBe(200);
    expect(await alarmsOf(made)).toEqual([]);
    made.setNow(new Date(NOW.getTime() + 2 * 3_600_000));
    await renew(first);
    await renew(first);
    expect(await alarmsOf(made)).toEqual([['KEY_COPIED', expect.stringContaining('is used again')]]);
    expect((await hand(made, await reportOf(agent, lines, 3, 3), second)).status).toBe(200);
  });

  it('H8: is for nobody but its holder', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const request = await csrOf(testAgent('plant-7/press-2', agent.key));
    expect(refusalOf(await made.post(CERTIFICATE_PATH, { request }, certificate))).toEqual({
      status: 403,
      code: 'WRONG_SITE',
    });
  });
});
