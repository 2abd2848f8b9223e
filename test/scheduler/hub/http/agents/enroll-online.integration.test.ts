import { createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  ENROLL_PATH,
  type EnrollAnswer,
  ROOTS_PATH,
  type RootsAnswer,
} from '#bundles/formats/events/hub-api';
import { PREDICATES } from '#bundles/media-types';
import type { SitePredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import { bitString, decodeDer, oid, sequence } from '#bundles/trust/root/der';
import { encodePem } from '#bundles/trust/keys/pem';
import { parseRoot } from '#bundles/trust/root/root';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { HOSTS, NOW, testAgent } from '../../test-hub.ts';
import { type Answer, csrOf, enrollBody, testServer } from '../../serve/test-server.ts';

const agent = testAgent('plant-7/press-1');
const refusalOf = ({ status, body }: Answer) => ({
  status,
  code: (body as { code?: string } | undefined)?.code,
});

const siteOf = (answer: EnrollAnswer): SitePredicate => {
  const bytes = (role: string) =>
    Buffer.from(answer.documents.find((document) => document.role === role)?.bytes ?? '', 'base64');
  const root = parseRoot(bytes('root'));
  return verifyStatement([bytes('site')], root.roles.release, PREDICATES.site, 'it')
    .predicate as SitePredicate;
};

describe('an agent with a token', () => {
  it('receives its certificate, the roots and its site statement', async () => {
    await using made = await testServer();
    const token = await made.token();
    const { status, body } = await made.post(ENROLL_PATH, await enrollBody(token, agent));
    const answer = body as EnrollAnswer;
    expect(status).toBe(200);
    const { root } = made.hub.keys;
    expect([answer.authority]).toEqual(root.agentCertificates);
    const certified = checkClientCertificate(new X509Certificate(answer.certificate), {
      fleet: 'acme',
      authorities: root.agentCertificates,
      now: NOW,
    });
    expect(certified).toMatchObject({ site: 'plant-7', agent: 'press-1' });
    expect(certified.key.pem).toBe(agent.key.public.pem);
    const site = siteOf(answer);
    expect(site).toMatchObject({ version: 1, audience: { fleet: 'acme', site: 'plant-7' } });
    expect(site.agents).toMatchObject([{ name: 'press-1', channel: HOSTS, key: agent.key.public.pem }]);
    expect(answer.documents.map(({ role }) => role)).toEqual(['site', 'site-values', 'root']);
    expect(made.changes()).toBe(1);
  });

  it('H9: gets the same again with the same token and key, and nobody else does', async () => {
    await using made = await testServer();
    const token = await made.token();
    const body = await enrollBody(token, agent);
    const first = (await made.post(ENROLL_PATH, body)).body as EnrollAnswer;
    const again = (await made.post(ENROLL_PATH, body)).body as EnrollAnswer;
    expect(again.documents).toEqual(first.documents);
    expect(made.changes()).toBe(1);
    const other = await enrollBody(token, testAgent('plant-7/press-2'));
    expect(refusalOf(await made.post(ENROLL_PATH, other))).toEqual({ status: 401, code: 'TOKEN_INVALID' });
  });

  it('is refused for a channel without a release, and may retry with the same token', async () => {
    await using made = await testServer();
    await made.hub.layoutWriter.release({
      channel: HOSTS,
      version: 1,
      bundles: [{ kind: 'host', packages: { app: { 'package.json': '{}' } } }],
    });
    const token = await made.token();
    const wrong = await enrollBody(token, agent, { channel: { environment: 'prod', clusterType: 'hots' } });
    expect(refusalOf(await made.post(ENROLL_PATH, wrong))).toEqual({ status: 400, code: 'CHANNEL_MISSING' });
    const right = await made.post(ENROLL_PATH, await enrollBody(token, agent));
    expect(refusalOf(right)).toEqual({ status: 200, code: undefined });
  });

  it('H10: has the channel and the labels that the token says, whatever it asks for', async () => {
    await using made = await testServer();
    const channel = { environment: 'dev', clusterType: 'kiosk' };
    const token = await made.token({ channel, labels: { line: 'north' } });
    const body = await enrollBody(token, agent, { labels: { line: 'any' } });
    const reply = await made.post(ENROLL_PATH, body);
    expect(refusalOf(reply)).toEqual({ status: 200, code: undefined });
    const answer = reply.body as EnrollAnswer;
    expect(siteOf(answer).agents).toMatchObject([{ channel, labels: { line: 'north' } }]);
  });

  it('that is enrolled may change its key only with a token that allows it', async () => {
    await using made = await testServer();
    await made.post(ENROLL_PATH, await enrollBody(await made.token(), agent));
    const machine = testAgent(agent.id);
    const plain = await made.post(ENROLL_PATH, await enrollBody(await made.token(), machine));
    expect(refusalOf(plain)).toEqual({ status: 409, code: 'ALREADY_ENROLLED' });
    const token = await made.token({ replaceKey: true });
    const answer = (await made.post(ENROLL_PATH, await enrollBody(token, machine))).body as EnrollAnswer;
    expect(siteOf(answer).agents).toMatchObject([{ key: machine.key.public.pem }]);
  });

  it('that was revoked is refused with its old key', async () => {
    await using made = await testServer();
    await made.post(ENROLL_PATH, await enrollBody(await made.token(), agent));
    await revokeAgent(made.hub.store, agent.id, made.context.signer, NOW);
    const token = await made.token({ replaceKey: true });
    expect(refusalOf(await made.post(ENROLL_PATH, await enrollBody(token, agent)))).toEqual({
      status: 403,
      code: 'REVOKED',
    });
  });
});

describe('an enrolment is refused and its token stays good', () => {
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });

  /** The request with its key replaced by one on another curve, signed by that one. */
  const onP384 = async (): Promise<string> => {
    const der = Buffer.from((await csrOf(agent)).replaceAll(/-----.*-----|\n/g, ''), 'base64');
    const [version, name, , attributes] = decodeDer(der).children[0]?.children ?? [];
    const key = createPublicKey(p384.privateKey).export({ type: 'spki', format: 'der' });
    const info = sequence(...[version, name].map((part) => part?.raw ?? key), key, attributes?.raw ?? key);
    const signature = sign('sha256', info, p384.privateKey);
    return encodePem(
      'CERTIFICATE REQUEST',
      sequence(info, sequence(oid('1.2.840.10045.4.3.2')), bitString(signature)),
    );
  };

  const brokenSignature = async (): Promise<string> => {
    const der = Buffer.from((await csrOf(agent)).replaceAll(/-----.*-----|\n/g, ''), 'base64');
    der[der.length - 3] = (der[der.length - 3] ?? 0) ^ 1;
    return encodePem('CERTIFICATE REQUEST', der);
  };

  it.each([
    [
      'whose own signature is broken',
      400,
      'REQUEST_INVALID',
      async () => ({ request: await brokenSignature() }),
    ],
    ['on P-384', 400, 'REQUEST_INVALID', async () => ({ request: await onP384() })],
    [
      'whose certificate request is for another agent',
      400,
      'REQUEST_INVALID',
      async () => ({ request: await csrOf(testAgent('plant-7/other', agent.key)) }),
    ],
    ['of another fleet', 403, 'WRONG_FLEET', async () => ({ fleet: 'other' })],
    ['with a channel that is none', 400, 'SCHEMA', async () => ({ channel: {} as never })],
  ])('H19: %s', async (_, status, code, changes) => {
    await using made = await testServer();
    const token = await made.token();
    const body = await enrollBody(token, agent, await changes());
    expect(refusalOf(await made.post(ENROLL_PATH, body))).toEqual({ status, code });
    expect((await made.post(ENROLL_PATH, await enrollBody(token, agent))).status).toBe(200);
  });

  it.each([
    ['unknown', async () => `ffe_${'A'.repeat(32)}`],
    ['for another site', (made: Awaited<ReturnType<typeof testServer>>) => made.token({ site: 'plant-8' })],
    ["a reader's", (made: Awaited<ReturnType<typeof testServer>>) => made.reader()],
  ])('H9: with a token that is %s', async (_, tokenOf) => {
    await using made = await testServer();
    const body = await enrollBody(await tokenOf(made), agent);
    expect(refusalOf(await made.post(ENROLL_PATH, body))).toEqual({ status: 401, code: 'TOKEN_INVALID' });
  });
});

it('H11: too many from one address are asked to wait', async () => {
  await using made = await testServer({ enrolmentsPerMinute: 2 });
  const body = await enrollBody(`ffe_${'A'.repeat(32)}`, agent);
  const answers: Answer[] = [];
  for (let time = 0; time < 3; time++) answers.push(await made.post(ENROLL_PATH, body));
  expect(answers.map(refusalOf)).toEqual([
    { status: 401, code: 'TOKEN_INVALID' },
    { status: 401, code: 'TOKEN_INVALID' },
    { status: 429, code: 'TOO_MANY' },
  ]);
  expect(answers[2]?.headers).toHaveProperty('retry-after');
});

it('the log names the agent for which each token was used, and never the token', async () => {
  await using made = await testServer();
  const token = await made.token();
  await made.post(ENROLL_PATH, await enrollBody(token, agent));
  await made.post(ENROLL_PATH, await enrollBody(token, testAgent('plant-7/thief')));
  const audit = made.log.filter((line) => line['audit'] === true);
  expect(audit).toMatchObject([
    { msg: 'token used', agent: 'plant-7/press-1', result: 'register' },
    { msg: 'enrolment refused', code: 'TOKEN_INVALID' },
  ]);
  expect(JSON.stringify(made.log)).not.toContain(token);
});

it('the roots are returned without a token, oldest first', async () => {
  await using made = await testServer();
  const { status, body } = await made.get(ROOTS_PATH);
  expect(status).toBe(200);
  const roots = (body as RootsAnswer).roots.map((text) => Buffer.from(text, 'base64'));
  expect(roots).toEqual(made.hub.keys.roots.map(({ bytes }) => bytes));
});
