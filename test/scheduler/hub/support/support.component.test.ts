import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SitePredicate, SupportPredicate } from '#bundles/formats/statements/predicates';
import { supportPath } from '#bundles/trust/reports/find-support';
import { signSupport } from '#bundles/trust/reports/support';
import { PREDICATES } from '#bundles/media-types';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { listSupport } from '../../../../scheduler/hub/support/list-support.ts';
import { requestSupport } from '../../../../scheduler/hub/support/request-support.ts';
import { takeSupport } from '../../../../scheduler/hub/support/take-support.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { ask, FLEET, NOW, put, type TestAgent, testAgent, type TestHub, testHub } from '../test-hub.ts';

const LATER = addDays(NOW, 1);

/** A hub with two agents of one site. */
const enrolledHub = async () => {
  const hub = await testHub({ by: { person: 'anna', reason: 'labels' } });
  const [press, kiosk] = [testAgent('plant-7/press-1'), testAgent('plant-7/kiosk-1')];
  const stick = await hub.stick('enrol');
  await ask(stick, press);
  await ask(stick, kiosk);
  await hub.enroll(stick);
  return Object.assign(hub, { press, kiosk });
};

let numbers = 0;
const request = async (hub: TestHub, agent?: string, days = 30, now = NOW) =>
  requestSupport(
    hub.store,
    { site: 'plant-7', agent },
    {
      signer: await siteSigner(hub),
      now,
      days,
      random: () => Buffer.from((numbers += 1).toString(16).padStart(16, '0'), 'hex'),
    },
  );

const requestId = async (hub: TestHub): Promise<string> =>
  (await request(hub, 'press-1')).requests[0]?.id ?? '';

const statementOf = async (hub: TestHub): Promise<SitePredicate> => {
  const { statement } = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
  const { root } = hub.keys;
  return verifyStatement([Buffer.from(statement)], root.roles.release, PREDICATES.site, 'it')
    .predicate as SitePredicate;
};

const bundle = (agent: TestAgent, id: string | null, more: Partial<SupportPredicate> = {}, key = agent.key) =>
  signSupport(
    [{ path: 'doctor.json', bytes: Buffer.from('[]\n') }],
    {
      fleet: FLEET,
      agent: agent.id,
      request: id,
      time: formatTime(LATER),
      clockTrusted: true,
      bootId: 'boot',
      version: '1.0.0',
      critical: [],
      ...more,
    },
    key,
  );

const take = async (hub: TestHub, by: TestAgent, bytes: Buffer, source: 'stick' | 'network' = 'network') => {
  const agent = await hub.store.db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', by.id)
    .executeTakeFirstOrThrow();
  return takeSupport(hub.store, { bytes, agent, source, path: 'the support bundle' }, LATER);
};

describe('requests for support bundles', () => {
  it('are in the signed site statement for each agent, and in the audit log, until they are answered', async () => {
    await using hub = await enrolledHub();
    const { requests } = await request(hub, 'press-1');
    const [{ id, until }] = requests as readonly [(typeof requests)[0]];
    const asked = async () =>
      Object.fromEntries((await statementOf(hub)).agents.map(({ name, support }) => [name, support]));
    expect(await asked()).toEqual({ 'press-1': { id, until }, 'kiosk-1': undefined });
    const [noted] = (await hub.store.db.selectFrom('pending_change').select('change').execute()).slice(-1);
    expect(JSON.parse(noted?.change ?? '')).toMatchObject({
      change: 'support request',
      about: 'plant-7/press-1',
      person: 'anna',
      reason: 'labels',
      new: { id, until },
    });
    // A second request while one waits changes nothing for that agent.
    expect((await request(hub)).requests.map(({ agent, waited }) => [agent, waited])).toEqual([
      ['plant-7/kiosk-1', false],
      ['plant-7/press-1', true],
    ]);
    expect((await asked())['press-1']).toEqual({ id, until });
    expect(await take(hub, hub.press, await bundle(hub.press, id))).toMatchObject({ outcome: 'taken' });
    const change = { site: 'plant-7', set: { line: 7 }, unset: [] };
    await setValues(hub.store, change, await siteSigner(hub), LATER);
    expect((await asked())['press-1']).toBeUndefined();
    expect((await asked())['kiosk-1']).toBeDefined();
  });

  it('leave the statement when they expire', async () => {
    await using hub = await enrolledHub();
    await request(hub, 'press-1', 7);
    const change = { site: 'plant-7', set: { line: 7 }, unset: [] };
    await setValues(hub.store, change, await siteSigner(hub), addDays(NOW, 8));
    expect((await statementOf(hub)).agents.every(({ support }) => support === undefined)).toBe(true);
    const [listed] = await listSupport(hub.store.db, undefined, addDays(NOW, 8));
    expect(listed).toMatchObject({ state: 'over' });
  });

  it('for an unknown site or agent are refused', async () => {
    await using hub = await enrolledHub();
    await expect(request(hub, 'press-9')).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  });
});

describe('support bundles of agents', () => {
  it('B3 by another key, or to a request of another agent, are refused', async () => {
    await using hub = await enrolledHub();
    const id = await requestId(hub);
    const refusals: readonly (readonly [Buffer, TestAgent, string])[] = [
      [await bundle(hub.press, id, {}, newSigningKey()), hub.press, 'UNKNOWN_KEY'],
      // Another agent of the site answers for it, and it answers for another.
      [await bundle(hub.press, id, {}, hub.kiosk.key), hub.press, 'UNKNOWN_KEY'],
      [await bundle(hub.kiosk, id), hub.kiosk, 'REPORT_INVALID'],
      [await bundle(hub.press, id, { agent: hub.kiosk.id }), hub.press, 'REPORT_INVALID'],
      [await bundle(hub.press, id, { fleet: 'other' }), hub.press, 'WRONG_FLEET'],
      [await bundle(hub.press, 'f'.repeat(16)), hub.press, 'REPORT_INVALID'],
      [await bundle(hub.press, id, { time: formatTime(addDays(NOW, 31)) }), hub.press, 'REPORT_INVALID'],
      [await bundle(hub.press, null), hub.press, 'REPORT_INVALID'],
      [Buffer.alloc((1 << 20) + 1), hub.press, 'TOO_LARGE'],
    ];
    for (const [bytes, by, code] of refusals)
      await expect(take(hub, by, bytes)).rejects.toMatchObject({ code });
    expect(await hub.store.db.selectFrom('support_bundle').select('digest').execute()).toEqual([]);
    expect(await listSupport(hub.store.db, undefined, LATER)).toMatchObject([{ state: 'waits' }]);
  });

  it('are stored once: a repeated one is known, and a second one for the same request is late', async () => {
    await using hub = await enrolledHub();
    const id = await requestId(hub);
    const first = await bundle(hub.press, id);
    expect(await take(hub, hub.press, first)).toMatchObject({ outcome: 'taken' });
    expect(await take(hub, hub.press, first)).toMatchObject({ outcome: 'known' });
    expect(await take(hub, hub.press, await bundle(hub.press, id))).toMatchObject({ outcome: 'late' });
    expect(await listSupport(hub.store.db, { site: 'plant-7', agent: 'press-1' }, LATER)).toMatchObject([
      { state: 'answered', request: id, person: 'anna', reason: 'labels', bundle: { source: 'network' } },
    ]);
  });

  it('on a medium are imported beside refused ones, and ten per agent are kept', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    for (let n = 10; n < 22; n++)
      await put(
        stick,
        supportPath(hub.press.id, `made-${n}`),
        await bundle(hub.press, null, { bootId: `b${n}` }),
      );
    await put(stick, supportPath(hub.press.id, 'forged'), await bundle(hub.press, null, {}, newSigningKey()));
    await put(stick, supportPath('plant-8/press-1', 'foreign'), await bundle(hub.press, null));
    await put(stick, join('fleet/reports', 'notes.tar'), Buffer.from('x'));
    const { support, refused } = await hub.importFrom(stick, LATER);
    expect(support.filter(({ outcome }) => outcome === 'taken')).toHaveLength(12);
    expect(refused.map(({ error }) => error.code).toSorted()).toEqual(['AGENT_UNKNOWN', 'UNKNOWN_KEY']);
    expect(await listSupport(hub.store.db, undefined, LATER)).toHaveLength(10);
  });
});
