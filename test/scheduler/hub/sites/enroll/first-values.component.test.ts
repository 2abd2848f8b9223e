import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { addDays } from '#bundles/time';
import { enrollOnline } from '../../../../../scheduler/hub/http/agents/enroll-online.ts';
import { registerFollower } from '../../../../../scheduler/hub/ingest/followers/register-follower.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { composeAgent, composeMoved } from '../../../../../scheduler/hub/sites/layers/compose-agent.ts';
import { setValues } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { NOW, target, workload } from '../../../release/removals/office.ts';
import { enrollBody } from '../../serve/test-server.ts';
import { ask, testAgent } from '../../test-hub.ts';
import { config, LAYERS, layeredHub, type LayeredHub, PACKAGE } from '../layers/layered-hub.ts';

const CHANNEL = { environment: 'prod', clusterType: 'press' };

const layers = (...more: readonly string[]): string =>
  [
    config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', 'siteSelector: {region: north}\n  values: {gatewayHost: n1}'),
    ...more,
  ].join('---\n');

const TIE = config('line', 'siteSelector: {line: a}\n  values: {gatewayHost: a}');
const TIED = { region: 'north', line: 'a' };

/** Enrols an agent over the network, and returns the values document of the answer. */
const online = async (
  hub: LayeredHub,
  id: string,
  labels: Readonly<Record<string, string>>,
): Promise<SiteValues> => {
  const agent = testAgent(id);
  const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
  const { token } = await createToken(
    hub.store,
    { scope: 'enroll', site: agent.site, replaceKey: false, channel: CHANNEL, labels },
    terms,
  );
  const { fleet } = hub.keys.root;
  const { answer } = await enrollOnline(await enrollBody(token, agent, { fleet, channel: CHANNEL }), {
    hub,
    authority: await hub.keys.authority(),
    signer: await siteSigner(hub),
    clock: () => NOW,
  });
  const found = answer.documents.find(({ role }) => role === 'site-values');
  return JSON.parse(Buffer.from(found?.bytes ?? '', 'base64').toString('utf8')) as SiteValues;
};

const onMedium = async (
  hub: LayeredHub,
  ids: readonly string[],
  labels: Readonly<Record<string, string>>,
) => {
  const stick = join(hub.folder, `stick-${ids.join('-').replaceAll('/', '-')}`);
  const { fleet } = hub.keys.root;
  for (const id of ids) await ask(stick, testAgent(id), { fleet, channel: CHANNEL, labels });
  await using medium = await openMedium(stick);
  const accept = (await readRequests(medium, fleet, [])).map(({ fingerprint }) => ({ fingerprint }));
  const terms = { accept, replaceKey: false, update: false, composeAgent: composeAgent(hub, NOW) };
  return await enrollMedium(hub, medium, terms, NOW);
};

const entries = async ({ store }: LayeredHub): Promise<readonly string[]> => {
  const rows = await store.db.selectFrom('pending_change').selectAll().orderBy('number').execute();
  return rows.map((row) => {
    const { change, about, reason } = JSON.parse(row.change) as Record<string, string>;
    return [change, about, String(reason).replace(/sha256:[0-9a-f]+/, 'sha256:*')].join(' ');
  });
};

test('an agent that enrols over the network has the values of its layers in its first statement', async () => {
  const hub = await layeredHub({ [LAYERS]: layers() });
  const values = await online(hub, 'plant-1/edge', { region: 'north' });
  expect(values.composed).toEqual({ edge: { values: { gatewayHost: 'n1', port: 80 } } });
  expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 1, composed: values.composed });
  expect((await hub.compose()).changed).toEqual([]);
  expect(await entries(hub)).toEqual([
    expect.stringMatching(/^tokens create /),
    expect.stringMatching(/^sites enroll plant-1\/edge one-time token/),
    'sites compose plant-1/edge layers of prod sha256:*',
  ]);
});

test('two agents of a medium have them too, and a second one of a site leaves those of the first', async () => {
  const hub = await layeredHub({ [LAYERS]: layers() });
  await onMedium(hub, ['plant-1/edge', 'plant-1/line'], { region: 'north' });
  const { version, composed } = await hub.valuesOf('plant-1');
  const north = { values: { gatewayHost: 'n1', port: 80 } };
  expect({ version, composed }).toEqual({ version: 1, composed: { edge: north, line: north } });
  const values = await online(hub, 'plant-1/gate', { region: 'south' });
  expect(values.composed).toEqual({
    edge: north,
    line: north,
    gate: { values: { gatewayHost: 'company', port: 80 } },
  });
});

test('an agent whose values tie waits with the names of the layers, and is enrolled after their correction', async () => {
  const hub = await layeredHub({ [LAYERS]: layers(TIE) });
  await expect(online(hub, 'plant-1/edge', TIED)).rejects.toMatchObject({
    code: 'ENROLMENT_WAITS',
    retryable: true,
    message: expect.stringMatching(
      /^plant-1\/edge is not enrolled yet, because its values cannot be composed: Config \w+ and Config \w+ \(.*\) both set gatewayHost for plant-1\/edge, and both select by 1 label$/,
    ) as string,
  });
  expect(await hub.store.db.selectFrom('agent').selectAll().execute()).toEqual([]);
  expect(await hub.store.db.selectFrom('site').selectAll().execute()).toEqual([]);
  const { sites, refused } = await onMedium(hub, ['plant-1/edge'], TIED);
  expect(sites).toEqual([]);
  expect(refused.map(({ error }) => error.code)).toEqual(['ENROLMENT_WAITS']);
  await hub.edit(LAYERS, () => layers());
  await hub.build({ now: NOW });
  expect((await onMedium(hub, ['plant-1/edge'], TIED)).refused).toEqual([]);
  expect(await hub.valuesOf('plant-1')).toMatchObject({
    composed: { edge: { values: { gatewayHost: 'n1', port: 80 } } },
  });
});

test('an agent whose values do not fit the schema of its application waits', async () => {
  const hub = await layeredHub({
    [LAYERS]: layers(config('wrong', 'siteSelector: {line: b}\n  values: {port: many}')),
  });
  await expect(online(hub, 'plant-1/edge', { line: 'b' })).rejects.toMatchObject({
    code: 'ENROLMENT_WAITS',
    message: expect.stringContaining('the value port does not fit') as string,
  });
  expect((await online(hub, 'plant-1/line', {})).composed).toEqual({
    line: { values: { gatewayHost: 'company', port: 80 } },
  });
});

test('an agent that is known keeps the values that it has when its key is replaced while its layers tie', async () => {
  const hub = await layeredHub({ [LAYERS]: layers() });
  const labels = { region: 'north' };
  const { composed } = await online(hub, 'plant-1/edge', labels);
  await hub.edit(LAYERS, () =>
    layers(config('other', 'siteSelector: {region: north}\n  values: {gatewayHost: n2}')),
  );
  await hub.build({ now: NOW });
  const agent = testAgent('plant-1/edge');
  const { fleet } = hub.keys.root;
  const { token } = await createToken(
    hub.store,
    { scope: 'enroll', site: 'plant-1', replaceKey: true, channel: CHANNEL, labels },
    { note: undefined, expires: addDays(NOW, 1), now: NOW },
  );
  const body = await enrollBody(token, agent, { fleet, channel: CHANNEL });
  await enrollOnline(body, {
    hub,
    authority: await hub.keys.authority(),
    signer: await siteSigner(hub),
    clock: () => NOW,
  });
  expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 2, composed });
});

test('an agent that moves to another channel gets the values of its layers there with the same statement, or stays where it is', async () => {
  const shops = config('shops', 'selector: {place: shop}\n  siteSelector: {}\n  values: {gatewayHost: shop}');
  const both = workload('labels', target('host', 'prod', 'host'), target('till', 'prod', 'till'));
  const hub = await layeredHub({ [LAYERS]: layers(shops, TIE), 'apps/labels/deploy/workload.yaml': both });
  await online(hub, 'plant-1/edge', {});
  await online(hub, 'plant-1/line', {});
  const move = async (agent: string) => {
    const channel = { environment: 'prod', clusterType: 'till' };
    const signer = { ...(await siteSigner(hub)), composeMoved: composeMoved(hub, NOW) };
    return setValues(
      hub.store,
      { site: 'plant-1', agent, set: {}, unset: [], terms: { channel } },
      signer,
      NOW,
    );
  };
  const { version } = await hub.valuesOf('plant-1');
  await move('edge');
  expect(await hub.valuesOf('plant-1')).toMatchObject({
    version: version + 1,
    composed: {
      edge: { values: { gatewayHost: 'shop', port: 80 } },
      line: { values: { gatewayHost: 'company', port: 80 } },
    },
  });
  expect((await hub.compose()).changed).toEqual([]);
  // Its labels tie with the layer of the shops.
  await hub.store.db
    .updateTable('agent')
    .set({ labels: '{"line":"a"}' })
    .where('name', '=', 'line')
    .execute();
  await expect(move('line')).rejects.toMatchObject({
    code: 'ENROLMENT_WAITS',
    message: expect.stringMatching(
      /^plant-1\/line keeps prod\/press, because its values for prod\/till cannot be composed: Config /,
    ) as string,
  });
  const rows = await hub.store.db
    .selectFrom('agent')
    .select(['name', 'cluster_type'])
    .orderBy('name')
    .execute();
  expect(rows.map((row) => row.cluster_type)).toEqual(['till', 'press']);
});

test('an agent moves with a value that the command gives and the layers of its new channel do not', async () => {
  const hub = await layeredHub({
    [LAYERS]: config('press', 'selector: {place: hall}\n  siteSelector: {}\n  values: {gatewayHost: press}'),
    'apps/labels/deploy/workload.yaml': workload(
      'labels',
      target('host', 'prod', 'host'),
      target('till', 'prod', 'till'),
    ),
    'apps/labels/host/package.yaml': PACKAGE.replace(
      'schema: {type: string}, default: none',
      'schema: {type: string}',
    ),
  });
  expect((await online(hub, 'plant-1/edge', {})).composed).toEqual({
    edge: { values: { gatewayHost: 'press' } },
  });
  const move = async (set: { readonly [name: string]: string }) => {
    const signer = { ...(await siteSigner(hub)), composeMoved: composeMoved(hub, NOW) };
    const terms = { channel: { environment: 'prod', clusterType: 'till' } };
    return setValues(hub.store, { site: 'plant-1', agent: 'edge', set, unset: [], terms }, signer, NOW);
  };
  await expect(move({})).rejects.toMatchObject({ code: 'ENROLMENT_WAITS' });
  await move({ gatewayHost: 'till' });
  const { agents, composed } = await hub.valuesOf('plant-1');
  expect({ agents, composed }).toEqual({ agents: { edge: { gatewayHost: 'till' } }, composed: undefined });
});

test('a cluster that follows a tree has the values of its layers once it is registered, also on another channel, or is not registered', async () => {
  const hub = await layeredHub({ [LAYERS]: layers() });
  const signer = { ...(await siteSigner(hub)), composeAgent: composeAgent(hub, NOW) };
  const order = { site: 'plant-1', name: 'edge', kind: 'flux', channel: CHANNEL } as const;
  await registerFollower(hub.store, { ...order, labels: { region: 'north' } }, signer, NOW);
  const north = { edge: { values: { gatewayHost: 'n1', port: 80 } } };
  expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 1, composed: north });
  expect((await hub.compose()).changed).toEqual([]);
  // A new token alone is no other statement; other labels are other values.
  await registerFollower(hub.store, { ...order, labels: undefined }, signer, NOW);
  expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 1 });
  await registerFollower(hub.store, { ...order, labels: {} }, signer, NOW);
  expect(await hub.valuesOf('plant-1')).toMatchObject({
    version: 2,
    composed: { edge: { values: { gatewayHost: 'company', port: 80 } } },
  });
  expect(await entries(hub)).toEqual([
    expect.stringMatching(/^sites follow plant-1\/edge/),
    'sites compose plant-1/edge layers of prod sha256:*',
    expect.stringMatching(/^sites follow plant-1\/edge/),
    expect.stringMatching(/^sites follow plant-1\/edge/),
    'sites compose plant-1/edge layers of prod sha256:*',
  ]);
  await hub.edit(LAYERS, () => layers(TIE));
  await hub.build({ now: NOW });
  await expect(
    registerFollower(hub.store, { ...order, site: 'plant-2', labels: TIED }, signer, NOW),
  ).rejects.toMatchObject({
    code: 'ENROLMENT_WAITS',
    message: expect.stringContaining('both set gatewayHost for plant-2/edge') as string,
  });
  const { length } = await hub.store.db.selectFrom('agent').selectAll().execute();
  expect(length).toBe(1);
});
