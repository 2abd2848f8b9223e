import { expect, it } from 'vitest';
import { CERTIFICATE_PATH, type CertificateRenewal } from '#bundles/formats/events/hub-api';
import { generateAgeIdentity, signRecipient } from '#bundles/trust/age/recipient';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { setSecrets } from '../../../../scheduler/hub/sites/secrets/set-secrets.ts';
import { FLEET, NOW, type TestAgent, testAgent } from '../test-hub.ts';
import { agentIn, newestStatement } from '../sites/secrets/secret-site.ts';
import { csrOf, join, type TestServer, testServer } from './test-server.ts';

const [EARLY, LATE] = ['2026-11-20T08:00:00Z', '2026-11-21T08:00:00Z'];

const renewal = async (
  agent: TestAgent,
  recipient: string,
  at = LATE,
  signer = agent.key,
): Promise<CertificateRenewal> => {
  const claim = { fleet: FLEET, site: agent.site, agent: agent.name, recipient, at };
  return {
    request: await csrOf(agent),
    recipient,
    recipientSignature: await signRecipient(claim, signer),
    at,
  };
};

const setFor = async ({ hub }: TestServer, agent: string) => {
  const values = { password: 'aHVudGVyMg==' };
  const order = { site: 'plant-7', name: 'mqtt', values, agents: [agent], escrow: undefined };
  await setSecrets(hub.store, order, await siteSigner(hub), NOW);
};

const recipientIn = async ({ hub }: TestServer) => agentIn(await newestStatement(hub), 'press-1')?.recipient;

it('an agent of a version before secrets sends its recipient with the next certificate renewal, once', async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  expect(await recipientIn(made)).toBeUndefined();
  const { recipient } = await generateAgeIdentity();
  const body = await renewal(agent, recipient);
  expect((await made.post(CERTIFICATE_PATH, body, certificate)).status).toBe(200);
  expect(await recipientIn(made)).toBe(recipient);
  expect(made.changes()).toBe(2);
  // It can be sealed to from now on.
  await setFor(made, 'press-1');
  const { version } = (await newestStatement(made.hub)).predicate;
  expect((await made.post(CERTIFICATE_PATH, body, certificate)).status).toBe(200);
  expect((await newestStatement(made.hub)).predicate.version).toBe(version);
  expect(made.changes()).toBe(2);
});

it('an agent with a new identity is reported by the hub, because its secret sets must be sealed again', async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const [old, next] = [await generateAgeIdentity(), await generateAgeIdentity()];
  await made.post(CERTIFICATE_PATH, await renewal(agent, old.recipient, EARLY), certificate);
  await setFor(made, 'press-1');
  await made.post(CERTIFICATE_PATH, await renewal(agent, next.recipient), certificate);
  expect(agentIn(await newestStatement(made.hub), 'press-1')).toMatchObject({
    recipient: next.recipient,
    unreadable: ['mqtt'],
  });
  expect(made.log).toContainEqual(expect.objectContaining({ agent: 'plant-7/press-1', reseal: ['mqtt'] }));
});

it('an older recipient is ignored, and does not block the certificate', async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const [old, next] = [await generateAgeIdentity(), await generateAgeIdentity()];
  await made.post(CERTIFICATE_PATH, await renewal(agent, next.recipient), certificate);
  const answer = await made.post(CERTIFICATE_PATH, await renewal(agent, old.recipient, EARLY), certificate);
  expect(answer.status).toBe(200);
  expect(await recipientIn(made)).toBe(next.recipient);
  expect(made.changes()).toBe(2);
});

it.each([
  [
    'signed by another key',
    async (agent: TestAgent, recipient: string) => renewal(agent, recipient, LATE, testAgent(agent.id).key),
    'REQUEST_INVALID',
  ],
  [
    'with a time that its agent did not sign',
    async (agent: TestAgent, recipient: string) => ({
      ...(await renewal(agent, recipient, EARLY)),
      at: LATE,
    }),
    'REQUEST_INVALID',
  ],
  [
    'without a signature',
    async (agent: TestAgent, recipient: string) => ({
      request: await csrOf(agent),
      recipient,
    }),
    'SCHEMA',
  ],
])('a recipient %s is refused together with the renewal', async (_, bodyOf, code) => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const { recipient } = await generateAgeIdentity();
  const answer = await made.post(CERTIFICATE_PATH, await bodyOf(agent, recipient), certificate);
  expect(answer).toMatchObject({ status: 400, body: { code } });
  expect(await recipientIn(made)).toBeUndefined();
});
