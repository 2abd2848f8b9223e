import { expect, test } from 'vitest';
import { prepare } from '../../../../../exporter/plan/prepare.ts';
import { planMedium } from '../../../../../scheduler/hub/questions/answers/plan-medium.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';
import { bundleOf } from '../../../../exporter/world.ts';
import { chain, enrolled, HOSTS, NOW, report, type TestHub, testHub } from '../../test-hub.ts';

/** A hub with two releases whose bundles share an image layer. */
const twoReleases = async (): Promise<TestHub> => {
  const hub = await testHub();
  for (const [index, text] of ['one', 'two'].entries()) {
    const bundles = [bundleOf(text, 'host')];
    await hub.layoutWriter.release({ channel: HOSTS, version: index + 1, bundles });
    await hub.layoutWriter.keep(HOSTS);
  }
  return hub;
};

const imported = async (hub: TestHub, id: string, version: number): Promise<void> => {
  const agent = await enrolled(hub, id);
  const stick = await hub.stick(`reports-${agent.id.replace('/', '-')}`);
  await report(stick, agent, chain(agent, [{ type: 'imported', release: { ...HOSTS, version } }]));
  await hub.importFrom(stick);
};

const ask = (hub: TestHub, site?: string) =>
  planMedium(hub, { channel: HOSTS, site, visible: undefined }, NOW);

/** Bytes of the bundles by fleet-export, from the hub's own layout. */
const exporterBytes = async (hub: TestHub, bases: readonly string[]) => {
  await using to = await temporaryDirectory('medium');
  await using prepared = await prepare({
    from: hub.layout,
    to: `${to.path}/medium`,
    channels: [HOSTS],
    sites: [],
    bases,
    now: NOW,
  });
  const [bundle] = prepared.plan.bundles;
  return { carried: bundle?.carried, assumed: bundle?.assumed };
};

test('without a word of the agents a medium carries everything, as fleet-export plans it', async () => {
  await using hub = await twoReleases();
  await enrolled(hub, 'plant-7/press-1');
  const plan = await ask(hub);
  expect(plan).toMatchObject({
    channel: 'prod/factory-host',
    release: 2,
    sites: 1,
    agents: 1,
    unknown: ['plant-7/press-1'],
    assumed: 0,
    packages: [{ isNew: true }],
  });
  expect(plan).toMatchObject(await exporterBytes(hub, []));
});

test('what each agent imported is left out, as fleet-export leaves it out for that release', async () => {
  await using hub = await twoReleases();
  await imported(hub, 'plant-7/press-1', 1);
  await imported(hub, 'plant-8/press-1', 1);
  const plan = await ask(hub);
  expect(plan).toMatchObject({ sites: 2, agents: 2, unknown: [] });
  expect(plan.assumed).toBe(50_000);
  expect(plan).toMatchObject(await exporterBytes(hub, ['release:prod/factory-host@1']));

  // One agent without a word: nothing may be left out for all, but for a site of its own.
  await enrolled(hub, 'plant-9/press-1');
  expect(await ask(hub)).toMatchObject({ agents: 3, unknown: ['plant-9/press-1'], assumed: 0 });
  expect(await ask(hub, 'plant-7')).toMatchObject({ agents: 1, assumed: plan.assumed, unknown: [] });
});

test('agents that imported the newest release wait for nothing', async () => {
  await using hub = await twoReleases();
  await imported(hub, 'plant-7/press-1', 2);
  expect(await ask(hub)).toMatchObject({ agents: 0, sites: 0, unknown: [] });
});

test('a channel without a release, or of which the caller sees a part alone, is refused', async () => {
  await using hub = await twoReleases();
  const channel = { environment: 'qa', clusterType: 'till' };
  const code = 'CHANNEL_MISSING';
  await expect(planMedium(hub, { channel, site: undefined, visible: undefined }, NOW)).rejects.toMatchObject({
    code,
  });
  const visible = { whole: new Set<string>(), parts: new Map([['prod', new Set(['web'])]]) };
  await expect(planMedium(hub, { channel: HOSTS, site: undefined, visible }, NOW)).rejects.toMatchObject({
    code,
  });
});
