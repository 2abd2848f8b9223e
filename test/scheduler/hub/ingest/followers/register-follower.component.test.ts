import { expect, it } from 'vitest';
import { parseJson } from '#bundles/json/parse-json';
import { formatTime } from '#bundles/time';
import {
  type FollowerRequest,
  registerFollower,
} from '../../../../../scheduler/hub/ingest/followers/register-follower.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { listSites } from '../../../../../scheduler/hub/sites/list-sites.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { ask, enrolledHub, HOSTS, NOW, testAgent, testHub } from '../../test-hub.ts';

const ORDER: FollowerRequest = {
  site: 'plant-7',
  name: 'edge',
  kind: 'flux',
  channel: HOSTS,
  labels: undefined,
};

it('a follower is listed with its site, and in no site statement', async () => {
  await using hub = await enrolledHub();
  const signer = await siteSigner(hub);
  await registerFollower(hub.store, { ...ORDER, labels: { ring: 'pilot' } }, signer, NOW);
  await registerFollower(hub.store, { ...ORDER, site: 'plant-8', kind: 'argo-cd' }, signer, NOW);
  const [seven, eight] = await listSites(hub.store.db, hub.store.fleet);
  expect(seven?.agents.map(({ agent, follower, labels }) => [agent, follower, labels])).toContainEqual([
    'edge',
    'flux',
    { ring: 'pilot' },
  ]);
  expect(eight?.agents.map(({ follower, fingerprint }) => [follower, fingerprint])).toEqual([
    ['argo-cd', ''],
  ]);
  const { site } = await revokeAgent(hub.store, 'plant-7/edge', signer, NOW);
  const payload = parseJson(site.statement) as { dsseEnvelope: { payload: string } };
  const said = parseJson(Buffer.from(payload.dsseEnvelope.payload, 'base64').toString()) as {
    predicate: { agents: readonly { name: string }[] };
  };
  expect(said.predicate.agents.map(({ name }) => name)).toEqual(['press-1']);
});

it('a follower gets a new token when it is registered again, and a new row after its revocation', async () => {
  await using hub = await testHub();
  const signer = await siteSigner(hub);
  const first = await registerFollower(hub.store, { ...ORDER, labels: { ring: 'pilot' } }, signer, NOW);
  const second = await registerFollower(hub.store, ORDER, signer, NOW);
  expect([first.result, second.result]).toEqual(['registered', 'changed']);
  expect(second.token).not.toBe(first.token);
  expect(second.row).toEqual(first.row);
  await revokeAgent(hub.store, 'plant-7/edge', signer, NOW);
  const third = await registerFollower(hub.store, ORDER, signer, NOW);
  expect(third.row).toMatchObject({ life: 2, revoked_at: null, enrolled_at: formatTime(NOW) });
});

it('a follower and an agent cannot have the same name', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const signer = await siteSigner(hub);
  const taken = { code: 'ALREADY_ENROLLED' };
  await expect(
    registerFollower(hub.store, { ...ORDER, name: agent.name }, signer, NOW),
  ).rejects.toMatchObject(taken);
  await registerFollower(hub.store, ORDER, signer, NOW);
  await expect(registerFollower(hub.store, { ...ORDER, kind: 'argo-cd' }, signer, NOW)).rejects.toMatchObject(
    taken,
  );
  const stick = await hub.stick('same-name');
  await ask(stick, testAgent('plant-7/edge'));
  const { refused } = await hub.enroll(stick, { replaceKey: true });
  expect(refused.map(({ error }) => error.code)).toEqual(['ALREADY_ENROLLED']);
});
