import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createLayerComposer } from '../../../../../scheduler/hub/serve/compose-layers.ts';
import { decideValues as change } from '../../../../../scheduler/hub/promote/values/change-values.ts';
import { approveValuesStage } from '../../../../../scheduler/hub/promote/values/approve-values-stage.ts';
import { decideValuesStep } from '../../../../../scheduler/hub/promote/values/decide-values-step.ts';
import {
  listValuesRollouts,
  simulateValues,
} from '../../../../../scheduler/hub/promote/values/list-values-rollouts.ts';
import { stepValues } from '../../../../../scheduler/hub/promote/values/step-values.ts';
import { writeComposed } from '../../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { pinValues } from '../../../../../scheduler/hub/sites/pin-values.ts';
import { renewSites } from '../../../../../scheduler/hub/sites/renew-sites.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { valuesAt } from '../../../../../scheduler/hub/sites/values-at.ts';
import { describeWaiting, readWaiting } from '../../../../../scheduler/hub/sites/waiting-values.ts';
import { LAYERS } from '../../sites/layers/layered-hub.ts';
import { at, layer, NOW, policy, POLICY, RINGS, type StagedHub, stagedHub } from './staged-hub.ts';

const THREE = ['plant-1/edge', 'plant-2/edge', 'plant-3/edge'];

/** Three sites, one of them a pilot, that run what is released. */
const threeSites = async (files: Readonly<Record<string, string>> = {}): Promise<StagedHub> => {
  const hub = await stagedHub(files);
  await hub.join('plant-1/edge', { ring: 'pilot' });
  await hub.join('plant-2/edge');
  await hub.join('plant-3/edge');
  await hub.compose();
  await hub.runs(NOW, THREE);
  return hub;
};

const as = (hub: StagedHub, person: string, reason = 'new gateway'): StagedHub => ({
  ...hub,
  store: { ...hub.store, by: { person, reason } },
});

const set = async (
  hub: StagedHub,
  values: Readonly<Record<string, string | number>>,
  now: Date,
  who = 'ann',
) => {
  const changes = ['plant-1', 'plant-2', 'plant-3'].map((site) => ({ site, set: values, unset: [] }));
  return change(as(hub, who), changes, { allowUnknown: false, now, review: undefined });
};

const status = async (hub: StagedHub, now: Date) =>
  (await listValuesRollouts(hub, undefined, now)).map(({ stages, next }) => [
    ...stages.map(({ name, state, complies, agents }) => `${name} ${state} ${complies}/${agents}`),
    next.kind,
  ]);

const step = async (hub: StagedHub, now: Date) => {
  const stepped = await stepValues(hub, { now });
  await writeComposed(hub, { now });
  return stepped.map(({ decision, sites, why }) => [decision, sites, ...(why === undefined ? [] : [why])]);
};

const only = async (hub: StagedHub, now: Date) => {
  const [first] = await listValuesRollouts(hub, undefined, now);
  if (!first) throw new Error('no rollout');
  return first.rollout;
};

const decide = async (hub: StagedHub, decision: 'advance' | 'pause' | 'resume' | 'take-back', now: Date) =>
  decideValuesStep(hub, { id: await only(hub, now), decision, person: 'eve', reason: 'because', now });

const told = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
  );

/** One change of values of all three sites by a road, which each test takes. */
const roads = {
  'sites set': async (hub: StagedHub, now: Date) => void (await set(hub, { gatewayHost: 'new' }, now)),
  layers: async (hub: StagedHub, now: Date) => {
    await hub.edit(LAYERS, () => layer('new'));
    await hub.build({ now });
    await hub.compose({ now });
  },
};

describe.each(Object.entries(roads))('a change of values by %s', (_road, make) => {
  test('reaches the next stage when the agents of the one before have it, comply and soaked', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    expect(await hub.have()).toEqual({ 'plant-1/edge': 'new', 'plant-2/edge': 'old', 'plant-3/edge': 'old' });
    expect(await status(hub, at(11))).toEqual([['pilot running 0/1', 'all waiting 0/3', 'wait']]);
    expect(await step(hub, at(12))).toEqual([]);
    await hub.runs(at(20), ['plant-1/edge']);
    expect(await status(hub, at(30))).toEqual([['pilot soaking 1/1', 'all waiting 1/3', 'wait']]);
    expect(await step(hub, at(79))).toEqual([]);
    expect(await step(hub, at(81))).toEqual([['advance', 2, 'the stage before it is complete']]);
    expect(Object.values(await hub.have())).toEqual(['new', 'new', 'new']);
    await hub.runs(at(90), THREE);
    expect(await step(hub, at(91))).toEqual([['complete', 0, 'the last stage is complete']]);
    expect(await status(hub, at(92))).toEqual([]);
    expect(await hub.compose({ now: at(93) })).toMatchObject({ changed: [], held: [] });
  });

  test('without a soak waits until the packages run the values, and not only until the agent has the statement', async () => {
    const stages =
      '  stages:\n    - {name: pilot, selector: {matchLabels: {ring: pilot}}}\n    - {name: all, percent: 100}\n';
    const hub = await threeSites({ [POLICY]: policy(stages) });
    await make(hub, at(10));
    await hub.runs(at(20), ['plant-1/edge'], 'accepted');
    expect(await step(hub, at(21))).toEqual([]);
    expect(await status(hub, at(21))).toEqual([['pilot running 0/1', 'all waiting 0/3', 'wait']]);
    await hub.runs(at(22), ['plant-1/edge'], 'failed');
    expect(await step(hub, at(23))).toEqual([
      ['pause', 0, '1 of 1 agents of stage pilot failed: plant-1/edge'],
    ]);
    await decide(hub, 'resume', at(24));
    await hub.runs(at(25), ['plant-1/edge']);
    expect(await step(hub, at(26))).toEqual([['advance', 2, 'the stage before it is complete']]);
  });

  test('waits for the approvals of its next stage, which count for this rollout alone', async () => {
    const stages = RINGS.replace('percent: 100}', 'percent: 100, approvals: 1}');
    const hub = await threeSites({ [POLICY]: policy(stages) });
    await make(hub, at(10));
    await hub.runs(at(20), ['plant-1/edge']);
    expect(await step(hub, at(90))).toEqual([]);
    const id = await only(hub, at(91));
    const [listed] = await listValuesRollouts(hub, undefined, at(91));
    expect(listed?.next).toMatchObject({ kind: 'wait', why: expect.stringContaining('approv') as string });
    const by = { key: await hub.keys.key('bundle'), person: 'bob', reason: 'looked', now: at(92) };
    expect(await approveValuesStage(hub, { id: '0123456789ab', ...by })).toBeUndefined();
    expect(await approveValuesStage(hub, { id, ...by })).toMatchObject({ stage: 'all', found: 1, needed: 1 });
    expect(await step(hub, at(93))).toEqual([['advance', 2, 'the stage before it is complete']]);
    // The next change begins without it.
    await hub.runs(at(94), THREE);
    expect(await step(hub, at(95))).toEqual([['complete', 0, 'the last stage is complete']]);
    await set(hub, { port: 81 }, at(100));
    await hub.runs(at(101), ['plant-1/edge']);
    expect(await step(hub, at(200))).toEqual([]);
  });

  test('stops with a stage that fails, names the reason, and continues after a resume', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    await hub.runs(at(20), ['plant-1/edge'], 'failed');
    const why = '1 of 1 agents of stage pilot failed: plant-1/edge';
    expect(await step(hub, at(21))).toEqual([['pause', 0, why]]);
    expect(await step(hub, at(300))).toEqual([]);
    const [listed] = await listValuesRollouts(hub, ['prod'], at(22));
    expect(listed?.next).toMatchObject({ kind: 'none', why: expect.stringContaining(why) as string });
    expect(await hub.compose({ now: at(23) })).toMatchObject({ changed: [] });
    expect(await hub.have()).toMatchObject({ 'plant-1/edge': 'new', 'plant-2/edge': 'old' });
    await decide(hub, 'resume', at(24));
    await hub.runs(at(25), ['plant-1/edge']);
    expect(await step(hub, at(86))).toEqual([['advance', 2, 'the stage before it is complete']]);
  });

  test('is taken back where it is, and stays away until it changes', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    expect(await decide(hub, 'take-back', at(20))).toMatchObject({ outcome: 'decided', sites: 1 });
    expect(Object.values(await hub.have())).toEqual(['old', 'old', 'old']);
    expect(await hub.compose({ now: at(21) })).toMatchObject({ changed: [] });
    expect(await step(hub, at(300))).toEqual([]);
    expect(Object.values(await hub.have())).toEqual(['old', 'old', 'old']);
    await decide(hub, 'resume', at(301));
    expect(await hub.have()).toMatchObject({ 'plant-1/edge': 'new', 'plant-2/edge': 'old' });
  });

  test('is not in a statement that is signed for another reason before its turn', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    const renewed = await renewSites(hub.store, await siteSigner(hub), '2999-01-01T00:00:00Z', at(11));
    expect(renewed).toHaveLength(3);
    expect(await hub.have()).toMatchObject({ 'plant-2/edge': 'old', 'plant-3/edge': 'old' });
  });

  test('waits while its environment is pinned, and begins with its first stage afterwards', async () => {
    const hub = await threeSites();
    await pinValues(as(hub, 'eve', 'stock taking').store, 'prod', true, at(5));
    await make(hub, at(10));
    expect(Object.values(await hub.have())).toEqual(['old', 'old', 'old']);
    expect(await step(hub, at(11))).toEqual([]);
    const [listed] = await listValuesRollouts(hub, undefined, at(12));
    expect(listed?.next).toMatchObject({
      why: expect.stringMatching(/pinned by eve: stock taking/) as string,
    });
    expect(await told(decide(hub, 'advance', at(13)))).toMatch(/^USAGE: the values of prod are pinned/);
    await pinValues(as(hub, 'eve', 'done').store, 'prod', false, at(14));
    expect(await step(hub, at(15))).toEqual([['advance', 1]]);
    expect(await hub.have()).toMatchObject({ 'plant-1/edge': 'new', 'plant-2/edge': 'old' });
  });

  test('is shown at the sites that wait, and in a simulation', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    const waiting = await readWaiting(hub.store.db, 'plant-2');
    expect(waiting.map(describeWaiting)).toEqual([
      expect.stringMatching(/^gatewayHost waits for stage all of rollout [0-9a-f]{12}, by (ann|a rule) at /),
    ]);
    const { stages } = await simulateValues(hub, await only(hub, at(11)), at(11));
    expect(stages.map(({ stage, agents }) => [stage, ...agents])).toEqual([
      ['pilot', 'plant-1/edge'],
      ['all', 'plant-2/edge', 'plant-3/edge'],
    ]);
  });

  test('takes effect at once with siteValues: atOnce in the policy', async () => {
    const hub = await threeSites({ [POLICY]: policy(`${RINGS}  siteValues: atOnce\n`) });
    await make(hub, at(10));
    expect(Object.values(await hub.have())).toEqual(['new', 'new', 'new']);
  });

  test('continues after a program that ended between the decision and the statements, in the duty of serve', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    await hub.runs(at(20), ['plant-1/edge']);
    // The key is opened once for the stage that is done, and again after the decision about the next one is stored.
    let opened = 0;
    const keys = Object.create(hub.keys, {
      key: {
        value: async (role: 'release') => {
          opened += 1;
          if (opened > 1) throw new Error('killed');
          return hub.keys.key(role);
        },
      },
    }) as typeof hub.keys;
    await expect(stepValues({ ...hub, keys }, { now: at(81) })).rejects.toThrow('killed');
    expect(await hub.have()).toEqual({ 'plant-1/edge': 'new', 'plant-2/edge': 'old', 'plant-3/edge': 'old' });
    const log = pino({ enabled: false });
    const { round } = createLayerComposer({ hub, clock: () => at(82), log });
    await round({ confirm: async () => {}, signal: new AbortController().signal });
    expect(Object.values(await hub.have())).toEqual(['new', 'new', 'new']);
    const unwritten = await hub.store.db
      .selectFrom('site_layers')
      .select('site')
      .where('written', '=', 0)
      .execute();
    expect(unwritten).toEqual([]);
  });

  test('has the values of any past day in the record of each site', async () => {
    const hub = await threeSites();
    await make(hub, at(10));
    await hub.runs(at(20), ['plant-1/edge']);
    await step(hub, at(81));
    const then = async (site: string, minute: number) => {
      const found = await valuesAt(hub.store.db, site, { at: at(minute).toISOString() });
      const { values = {}, composed = {} } = found?.document ?? {};
      return values['gatewayHost'] ?? composed['edge']?.values['gatewayHost'];
    };
    expect([await then('plant-1', 9), await then('plant-1', 11)]).toEqual(['old', 'new']);
    expect([await then('plant-2', 80), await then('plant-2', 82)]).toEqual(['old', 'new']);
  });
});
