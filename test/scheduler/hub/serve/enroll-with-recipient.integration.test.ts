import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { ENROLL_PATH, type EnrollAnswer } from '#bundles/formats/events/hub-api';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { generateAgeIdentity, signRecipient } from '#bundles/trust/age/recipient';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { setSecrets } from '../../../../scheduler/hub/sites/secrets/set-secrets.ts';
import { FLEET, NOW, type TestAgent, testAgent } from '../test-hub.ts';
import { enrollBody, type TestServer, testServer } from './test-server.ts';

const VALUES = { password: 'aHVudGVyMg==' };

const bodyWith = async (made: TestServer, agent: TestAgent, recipient: string, signer = agent.key) => {
  const body = await enrollBody(await made.token(), agent);
  const claim = { fleet: FLEET, site: agent.site, agent: agent.name, recipient, at: body.request.at };
  const recipientSignature = await signRecipient(claim, signer);
  return { ...body, request: { ...body.request, recipient, recipientSignature } };
};

it('an agent enrolled over the network with a recipient gets its sealed sets with the next response', async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const { identity, recipient } = await generateAgeIdentity();
  const body = await bodyWith(made, agent, recipient);
  expect((await made.post(ENROLL_PATH, body)).status).toBe(200);
  const order = { site: 'plant-7', name: 'mqtt', values: VALUES, agents: undefined, escrow: undefined };
  await setSecrets(made.hub.store, order, await siteSigner(made.hub), NOW);
  const answer = (await made.post(ENROLL_PATH, body)).body as EnrollAnswer;
  expect(answer.documents.map(({ role }) => role)).toEqual(['site', 'site-values', 'secrets', 'root']);
  const carried = answer.documents.find(({ role }) => role === 'secrets');
  const sealed = Buffer.from(carried?.bytes ?? '', 'base64');
  expect(digestOf(sealed)).toBe(carried?.digest);
  const address = { fleet: FLEET, site: 'plant-7', name: 'mqtt' };
  expect(await openSecretSet(sealed, identity, address)).toMatchObject({ values: VALUES });
});

it("a recipient that is not signed by the agent's key is refused, and no agent is enrolled", async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const { recipient } = await generateAgeIdentity();
  const answer = await made.post(
    ENROLL_PATH,
    await bodyWith(made, agent, recipient, testAgent(agent.id).key),
  );
  expect(answer.body).toMatchObject({ code: 'REQUEST_INVALID' });
  expect(await made.hub.store.db.selectFrom('agent').selectAll().execute()).toEqual([]);
});
