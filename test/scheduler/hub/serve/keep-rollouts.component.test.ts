import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { approveFor } from '../../../../scheduler/hub/promote/decide/approve-for.ts';
import { readPromotion } from '../../../../scheduler/hub/promote/facts/link.ts';
import { type KeepOptions, createKeepCurrent } from '../../../../scheduler/hub/serve/keep-current.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { ours } from '../../fleet-platform.ts';
import { FILES, NOW, openChainOffice } from '../../release/chain/chain-office.ts';
import { bringHome, currentOf, enrolAgent, hubOf, runRelease } from '../office-agents.ts';

const DEV = { environment: 'dev', clusterType: 'press' };
const { signal } = new AbortController();
const hours = (count: number): Date => new Date(NOW.getTime() + count * 3_600_000);

const rings = (more: string, last = ''): string =>
  ours(
    'RolloutPolicy',
    'rings',
    `spec:\n  environment: dev\n  stages:\n    - {name: pilot, selector: {matchLabels: {ring: pilot}}, maxFailures: 0}\n    - {name: all, percent: 100${last}}\n${more}`,
  );

/** A fleet whose pilot and other agent run the first release, and a second one that begins at the pilot. */
const rollingOut = async (policy: string, value: string) => {
  const office = await openChainOffice(FILES);
  const hub = await hubOf(office);
  const pilot = await enrolAgent(office, hub, 'plant-7/press', { channel: DEV, labels: { ring: 'pilot' } });
  const other = await enrolAgent(office, hub, 'plant-8/press', { channel: DEV });
  await office.build();
  for (const one of [pilot, other]) {
    await runRelease(hub, one, NOW, 'broken');
    await bringHome(office, hub, one, NOW);
  }
  office.commit({ 'promotion/rings.yaml': policy });
  office.config('base/level.yaml', value);
  await office.build({ now: hours(1) });
  const said: object[] = [];
  const say = (fields: object, what: string): void => void said.push({ what, ...fields });
  const log = { info: say, warn: say, error: say } as unknown as KeepOptions['log'];
  let now = hours(1);
  const configuration = await readConfiguration(
    { layout: office.layout, keys: join(office.folder, 'keys') },
    office.folder,
  );
  const keep = createKeepCurrent({
    configuration,
    store: hub.store,
    clock: () => now,
    log,
    publish: undefined,
  });
  return {
    office,
    hub,
    pilot,
    other,
    /** One round of serve. @returns what it said */
    round: async (at: number): Promise<readonly object[]> => {
      now = hours(at);
      said.length = 0;
      await keep(signal);
      return [...said];
    },
    report: async (one: typeof pilot, at: number): Promise<void> => {
      await runRelease(hub, one, hours(at), 'broken');
      await bringHome(office, hub, one, hours(at));
    },
    decisions: async (): Promise<readonly unknown[]> =>
      (await readAuditLog(await openLayout(office.layout), office.keys.roots)).entries.flatMap((entry) =>
        entry.kind === 'decision'
          ? [[entry.predicate.decision, entry.predicate.stage, entry.predicate.person]]
          : [entry.kind],
      ),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
};

describe('rollouts under serve', () => {
  it('are rolled back by the policy when the pilot fails, and no build releases the bundle again', async () => {
    await using world = await rollingOut(rings('  onFailure: takeBack\n'), 'broken');
    const { hub, pilot, other, office } = world;
    expect((await currentOf(hub, DEV))?.has('broken')).toBe(true);
    expect(await world.round(1)).toEqual([]);
    await world.report(pilot, 2);
    expect(await world.round(2)).toEqual([
      {
        what: 'rollout',
        channel: 'dev/press',
        decision: {
          kind: 'take-back',
          stage: 'pilot',
          why: '1 of 1 agents of stage pilot failed: plant-7/press',
        },
        'taken back': 3,
      },
    ]);
    const back = await currentOf(hub, DEV);
    expect([back?.number, back?.rollout, back?.has('broken')]).toEqual([3, { percent: 100 }, false]);
    expect(await world.decisions()).toEqual([
      ['start-rollout', 'pilot', null],
      ['take-back', 'pilot', null],
    ]);
    // What it reached comes back; a repeated round, a build and the word of the others change nothing.
    for (const one of [pilot, other]) await world.report(one, 3);
    expect(await world.round(3)).toEqual([]);
    const built = await office.build({ now: hours(4) });
    expect(built.channels[0]).toMatchObject({ outcome: 'taken-back', version: 3 });
    expect(await world.round(4)).toEqual([]);
    // A mended commit begins again at the pilot.
    office.config('base/level.yaml', 'mended');
    expect((await office.build({ now: hours(5) })).channels[0]).toMatchObject({
      outcome: 'released',
      stage: 'pilot',
    });
  });

  it('wait for the approval of the next stage, and advance in the round after it', async () => {
    await using world = await rollingOut(rings('', ', approvals: 1'), 'better');
    await world.report(world.pilot, 2);
    expect(await world.round(2)).toEqual([]);
    const { office, hub } = world;
    const promotion = await readPromotion({ ...office.platform, signal }, office.platform.sources);
    const wish = {
      environment: 'dev',
      stage: 'all',
      candidate: undefined,
      person: 'carla',
      reason: 'the pilot is content',
    };
    await approveFor({ hub, promotion }, { ...wish, now: hours(3), signal }, await office.keys.key('bundle'));
    expect(await world.round(3)).toMatchObject([
      { channel: 'dev/press', decision: { kind: 'advance', stage: 'all' }, widened: 3 },
    ]);
    await world.report(world.other, 4);
    expect(await world.round(4)).toMatchObject([{ decision: { kind: 'complete' } }]);
  });

  it('do not wait for an agent that is revoked or joins during a stage', async () => {
    await using world = await rollingOut(rings(''), 'better');
    const { office, hub } = world;
    await world.report(world.pilot, 2);
    expect(await world.round(2)).toMatchObject([{ decision: { kind: 'advance', stage: 'all' }, widened: 3 }]);
    await enrolAgent(office, hub, 'plant-9/press', {
      channel: DEV,
      labels: { ring: 'pilot' },
      now: hours(3),
    });
    await hub.store.db
      .updateTable('agent')
      .set({ revoked_at: hours(3).toISOString().replace('.000', '') })
      .where('id', '=', 'plant-8/press')
      .execute();
    expect(await world.round(4)).toMatchObject([{ decision: { kind: 'complete' } }]);
  });
});
