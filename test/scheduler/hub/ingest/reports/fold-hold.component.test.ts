import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { addDays, formatTime } from '#bundles/time';
import type { Row } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import { chain, enrolledHub, type Happening, HOSTS, NOW, report, type TestHub } from '../../test-hub.ts';

const UNTIL = formatTime(addDays(NOW, 2));
const held = (until: unknown, operator: unknown = 'anna'): Happening => ({
  type: 'held',
  message: 'batch 17 is running',
  detail: { until, operator } as NonNullable<Happening['detail']>,
});
const RELEASED: Happening = { type: 'released', message: 'done', detail: { operator: 'anna' } };
const missing = (hub: TestHub) =>
  hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'one' } } }],
  });

const ask = async (hub: TestHub, now: Date) => {
  const { narrow, json } = await readStatus(hub, {}, now);
  return {
    narrow: shown(narrow).join('\n'),
    ...(json as { readonly rows: readonly Row[]; readonly needALook: number }),
  };
};

describe('a hold that an agent reports', () => {
  it('is shown with its end and reason, is not a failure, and does not comply', async () => {
    await using hub = await enrolledHub();
    await missing(hub);
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, [held(UNTIL)]));
    await hub.importFrom(stick);
    const during = await ask(hub, addDays(NOW, 1));
    expect(during.rows).toMatchObject([
      {
        assignment: 'oven',
        verdict: 'held',
        held: { until: UNTIL, by: 'anna', reason: 'batch 17 is running' },
      },
    ]);
    expect(during.needALook).toBe(0);
    expect(during.narrow).toContain(`is held by anna, 2 d ago, until ${UNTIL}: batch 17 is running`);
    const after = await ask(hub, addDays(NOW, 2));
    expect(after).toMatchObject({ needALook: 1, rows: [{ verdict: 'missing', held: null }] });
  });

  it.each([
    ['in order', [1, 2, 3]],
    ['backwards', [3, 2, 1]],
    ['the newest in the middle', [1, 3, 2]],
  ])('ends with its release event, when the reports arrive %s', async (_, order) => {
    await using hub = await enrolledHub();
    const lines = chain(hub.agent, [held(null), RELEASED, { type: 'imported' }]);
    for (const seq of order) {
      const stick = await hub.stick(`stick-${seq}`);
      await report(stick, hub.agent, lines, seq, seq);
      await hub.importFrom(stick);
    }
    expect((await ask(hub, NOW)).rows).toMatchObject([{ held: null }]);
    const again = await hub.stick('again');
    await report(again, hub.agent, lines, 1, 1);
    await hub.importFrom(again);
    expect((await ask(hub, NOW)).rows).toMatchObject([{ held: null }]);
  });

  it.each([
    ['an end that is not a time', held('soon')],
    ['an operator that is not text', held(null, { name: 'x' })],
    ['no detail', { type: 'held' }],
  ])('lasts until it is released when it has %s', async (_, event) => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, [event]));
    await hub.importFrom(stick);
    expect((await ask(hub, addDays(NOW, 900))).rows).toMatchObject([{ held: { until: null } }]);
  });
});
