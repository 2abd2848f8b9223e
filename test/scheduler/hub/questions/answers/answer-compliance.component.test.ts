import { expect, test } from 'vitest';
import { addDays, DAY_MS, formatTime, HOUR_MS } from '#bundles/time';
import type { Visible } from '../../../../../scheduler/hub/people/visible.ts';
import { answerCompliance } from '../../../../../scheduler/hub/questions/answers/answer-compliance.ts';
import { recordFreshness } from '../../../../../scheduler/hub/questions/state/freshness-policies.ts';
import { countCompliance } from '../../../../../scheduler/hub/questions/status/count-compliance.ts';
import { sampleCompliance } from '../../../../../scheduler/hub/upkeep/sample-compliance.ts';
import { applied, days, deployment, PROD, packageIn, release } from '../history/shop-hub.ts';
import { chain, enrolled, type Happening, hubsAfter, NOW, report } from '../../test-hub.ts';

/** A release of prod, and an agent in each condition. */
const fleet = hubsAfter(async (hub) => {
  const web = await packageIn(hub, await release(hub, PROD, 1, { web: deployment('1.0', 2) }), 'web');
  const limits = { lateSeconds: (2 * DAY_MS) / 1000, staleSeconds: (20 * DAY_MS) / 1000 };
  const at = { file: 'promotion/prod.yaml' };
  await recordFreshness(hub.store, [
    { name: 'prod', environment: 'prod', clusterTypes: [], ...limits, visitsSeconds: undefined, at },
  ]);
  const runs = applied('web', web, days(-9));
  const drift: Happening = { type: 'drift', assignment: 'web', code: 'DRIFT', message: 'edited' };
  const stories: Readonly<Record<string, readonly [number, readonly Happening[]]>> = {
    'good/a': [-1, [runs]],
    'good/b': [-1, [runs]],
    'late/a': [-3, [runs]],
    'stale/a': [-30, [runs]],
    'drifted-and-late/a': [-3, [runs, drift]],
    'held/a': [-1, [{ type: 'held', message: 'by hand', detail: { by: 'mara', reason: 'audit' } }]],
    'silent/a': [-1, [runs]],
  };
  for (const [name, [ago, happened]] of Object.entries(stories)) {
    const agent = await enrolled(hub, name, PROD);
    const stick = await hub.stick(name.replace('/', '-'));
    const lines = chain(
      agent,
      happened.map((one) => ({ ...one, at: formatTime(days(ago)) })),
    );
    await report(stick, agent, lines);
    await hub.importFrom(stick, days(ago));
  }
  await enrolled(hub, 'mute/a', PROD);
  await enrolled(hub, 'idle/a', { ...PROD, environment: 'lab' });
  await hub.store.transact((tx) =>
    tx
      .updateTable('agent')
      .set({ online_at: formatTime(days(-1)) })
      .where('id', '=', 'silent/a')
      .execute(),
  );
  return { web };
});

const PROD_COUNTS = { complies: 2, waiting: 1, differs: 1, late: 2, silent: 1, neverReported: 1 };

const asked = (since: Date, visible?: Visible) => ({
  environment: undefined,
  since: formatTime(since),
  visible,
});

test('each agent counts once: a fault before silence, silence before lateness', async () => {
  await using hub = await fleet();
  const counts = await countCompliance(hub, NOW);
  expect(counts.get('prod')).toEqual(PROD_COUNTS);
  expect(counts.get('lab')).toEqual({ ...NOBODY, neverReported: 1 });
});

const NOBODY = { complies: 0, waiting: 0, differs: 0, late: 0, silent: 0, neverReported: 0 };

test('each hour is stored once, by any replica', async () => {
  await using hub = await fleet();
  expect(await sampleCompliance(hub, NOW)).toBe(true);
  expect(await sampleCompliance(hub, new Date(NOW.getTime() + 59 * 60_000))).toBe(false);
  // Both find the next hour without a sample.
  const next = new Date(NOW.getTime() + HOUR_MS);
  await Promise.all([sampleCompliance(hub, next), sampleCompliance(hub, next)]);
  const { stepHours, environments } = await answerCompliance(hub.store.db, asked(addDays(NOW, -7)), next);
  expect(stepHours).toBe(1);
  expect(environments.map(({ environment, samples }) => [environment, samples.length])).toEqual([
    ['lab', 2],
    ['prod', 2],
  ]);
  expect(environments[1]?.samples[0]).toEqual({ at: formatTime(NOW), ...PROD_COUNTS });
});

test('a long span has the last sample of each step, and samples are kept for 400 days', async () => {
  await using hub = await fleet();
  const at = (hours: number): Date => new Date(NOW.getTime() + hours * HOUR_MS);
  for (const hours of [-401 * 24, -399 * 24, -50, -14, -13, -1, 0]) await sampleCompliance(hub, at(hours));
  const samples = async (since: Date) => {
    const { environments, stepHours } = await answerCompliance(hub.store.db, asked(since), NOW);
    const prod = environments.find(({ environment }) => environment === 'prod');
    return [stepHours, ...(prod?.samples ?? []).map((sample) => sample.at)];
  };
  const times = (...hours: readonly number[]) => hours.map((one) => formatTime(at(one)));
  expect(await samples(addDays(NOW, -7))).toEqual([1, ...times(-50, -14, -13, -1, 0)]);
  // Steps begin at midnight or noon, and those of two days at every other midnight.
  expect(await samples(addDays(NOW, -90))).toEqual([12, ...times(-50, -13, 0)]);
  expect(await samples(addDays(NOW, -500))).toEqual([48, ...times(-399 * 24, -13, 0)]);
});

test('a reader gets only the environments that it may read as a whole', async () => {
  await using hub = await fleet();
  await sampleCompliance(hub, NOW);
  const names = async (visible?: Visible) => {
    const { environments } = await answerCompliance(hub.store.db, asked(addDays(NOW, -1), visible), NOW);
    return environments.map(({ environment }) => environment);
  };
  expect(await names()).toEqual(['lab', 'prod']);
  expect(await names({ whole: new Set(['lab']), parts: new Map([['prod', new Set(['web'])]]) })).toEqual([
    'lab',
  ]);
  expect(await names({ whole: new Set(), parts: new Map() })).toEqual([]);
});
