import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { formatTime } from '#bundles/time';
import { createVisitor } from '../../../agent/report/visit-hub.ts';
import { appendEvent, readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { TODAY } from '../hub-server.ts';
import { recordLook } from '../../../agent/store/last-look.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { testEdge } from '../world.ts';
import { createOnlineWorld, type OnlineWorld, PATIENT } from '../online-world.ts';

const HOUR_MS = 3_600_000;

const enrolled = async (): Promise<OnlineWorld> => {
  const world = await createOnlineWorld();
  await world.enroll();
  return world;
};

const waiting = ({ state }: OnlineWorld): readonly number[] => readOutbox(state).map(({ seq }) => seq);

const happen = (world: OnlineWorld, count: number): void => {
  const agent = world.agent();
  world.state.db.transaction(() => {
    for (let n = 0; n < count; n++) appendEvent(agent, { type: 'drift', message: `event ${n}` });
  })();
};

describe('reports over the network', () => {
  it('arrive once each, and leave the outbox for a matching receipt', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, PATIENT);
    expect(await hub.visit()).toBe(true);
    expect([...it.hub.events.keys()]).toEqual([1, 2]);
    expect(waiting(it)).toEqual([]);
    it.hub.asked.length = 0;
    expect(await hub.visit()).toBe(false);
    expect(it.hub.asked).toEqual([]);
    happen(it, 1);
    await hub.visit();
    expect([...it.hub.events.keys()]).toEqual([1, 2, 3]);
  });

  it('replace "present", which is sent alone when nothing waits', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, PATIENT);
    it.hub.asked.length = 0;
    expect(await hub.visit({ present: true })).toBe(true);
    expect(it.hub.asked).toEqual(['POST /v1/reports as plant-7/kiosk-1']);
    expect(await hub.visit({ present: true })).toBe(true);
    expect(it.hub.asked.slice(1)).toEqual(['POST /v1/presence as plant-7/kiosk-1']);
  });

  it('report when an agent without events last looked, instead of "present", at most at the configured interval', async () => {
    await using it = await enrolled();
    const hours = (count: number, boot = 'boot-1'): Agent =>
      it.agent({
        edge: {
          ...testEdge(new Date(TODAY.getTime() + count * HOUR_MS)),
          bootId: boot,
          monotonicMs: () => (count + 100) * HOUR_MS,
        },
      });
    const visitAt = async (agent: Agent): Promise<readonly string[]> => {
      it.hub.asked.length = 0;
      await using hub = createVisitor(agent, it.hub.url, { ...PATIENT, signLooksMs: 6 * HOUR_MS });
      await hub.visit({ present: true });
      return it.hub.asked.map((line) => line.split(' ')[1] ?? '');
    };
    const look = (agent: Agent): void => recordLook(agent, { read: [], all: [] });
    expect(await visitAt(hours(0))).toEqual(['/v1/reports']);
    look(hours(1));
    expect(await visitAt(hours(1))).toEqual(['/v1/presence']);
    look(hours(6));
    expect(await visitAt(hours(6))).toEqual(['/v1/reports']);
    expect(it.hub.reports.at(-1)).toMatchObject({ lookedAt: formatTime(hours(6).edge.now()) });
    expect([...it.hub.events.values()].at(-1)).toMatchObject({ type: 'looked' });
    expect(waiting(it)).toEqual([]);
    // A look of before the last report says nothing new, and a restart of the program within the time neither.
    expect(await visitAt(hours(13))).toEqual(['/v1/presence']);
    look(hours(13));
    expect(await visitAt(hours(13))).toEqual(['/v1/reports']);
    look(hours(14, 'boot-2'));
    expect(await visitAt(hours(14, 'boot-2'))).toEqual(['/v1/presence']);
    // A wall clock that was set back over a boot leaves the age unknown: one report, and then none for six hours.
    look(hours(-40, 'boot-3'));
    expect(await visitAt(hours(-40, 'boot-3'))).toEqual(['/v1/reports']);
    look(hours(-39, 'boot-3'));
    expect(await visitAt(hours(-39, 'boot-3'))).toEqual(['/v1/presence']);
  });

  it('go in batches, each acknowledged before the next', async () => {
    await using it = await enrolled();
    happen(it, 2300);
    await using hub = createVisitor(it.agent(), it.hub.url, PATIENT);
    let reports = 0;
    it.hub.mischief = ({ url }, response) => {
      if (url !== '/v1/reports' || ++reports < 3) return false;
      response.writeHead(503).end();
      return true;
    };
    await expect(hub.visit()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    expect(waiting(it)[0]).toBe(2001);
    it.hub.mischief = undefined;
    await hub.visit();
    expect(it.hub.events.size).toBe(2302);
    expect(waiting(it)).toEqual([]);
  });

  it('go in batches that a satellite link transfers in about a minute', async () => {
    await using it = await enrolled();
    const agent = it.agent();
    it.state.db.transaction(() => {
      for (let n = 0; n < 900; n++) appendEvent(agent, { type: 'drift', message: `event ${n} `.repeat(150) });
    })();
    const bytes: number[] = [];
    it.hub.mischief = ({ headers }) => {
      bytes.push(Number(headers['content-length']));
      return false;
    };
    await using hub = createVisitor(agent, it.hub.url, PATIENT);
    await hub.visit();
    expect(waiting(it)).toEqual([]);
    expect(bytes.length).toBeGreaterThan(2);
    expect(Math.max(...bytes)).toBeLessThan(600_000);
  });

  it('survive a hub that stores them and dies before it answers', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, { ...PATIENT, attempts: 1 });
    it.hub.bend = () => ({ receipts: [] });
    await expect(hub.visit()).rejects.toMatchObject({ code: 'RECEIPT_INVALID' });
    expect([it.hub.events.size, waiting(it)]).toEqual([2, [1, 2]]);
    it.hub.bend = undefined;
    await hub.visit();
    expect([it.hub.events.size, waiting(it)]).toEqual([2, []]);
  });

  it.each([
    { name: 'by a key that may not sign them', key: 'release', head: undefined, code: 'UNKNOWN_KEY' },
    { name: 'about other events', key: 'receipt', head: digestOf('other'), code: 'RECEIPT_INVALID' },
  ] as const)('H15: are let go for no receipts $name, told once', async ({ key, head, code }) => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, PATIENT);
    const last = readOutbox(it.state).at(-1);
    const receipt = await signReceipt(
      digestOf('report'),
      {
        fleet: 'halden',
        agent: 'plant-7/kiosk-1',
        from: 1,
        to: 2,
        head: head ?? last?.hash ?? digestOf(''),
        time: formatTime(TODAY),
      },
      it.fleet.keys[key],
    );
    it.hub.bend = () => ({ receipts: [JSON.parse(receipt.toString())] });
    for (let n = 0; n < 3; n++) await expect(hub.visit()).rejects.toMatchObject({ code });
    expect(waiting(it)).toEqual(head ? [1, 2, 3] : [1, 2]);
  });

  it.each([
    {
      name: 'a no',
      status: 403,
      body: '{"code":"AGENT_UNKNOWN","message":"revoked"}',
      code: 'AGENT_UNKNOWN',
      tries: 1,
    },
    { name: 'no JSON', status: 200, body: '<html>', code: 'HUB_REFUSED', tries: 1 },
    { name: 'a strange status', status: 404, body: '', code: 'HUB_REFUSED', tries: 1 },
    { name: 'trouble of its own', status: 500, body: '', code: 'HUB_UNREACHABLE', tries: 3 },
    { name: 'too many', status: 429, body: '', code: 'HUB_UNREACHABLE', tries: 3 },
  ])('stay in the outbox after an answer with $name', async ({ status, body, code, tries }) => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, PATIENT);
    it.hub.asked.length = 0;
    it.hub.mischief = (_, response) => {
      response.writeHead(status, { 'retry-after': '1' }).end(body);
      return true;
    };
    await expect(hub.visit()).rejects.toMatchObject({ code });
    expect(it.hub.asked).toHaveLength(tries);
    expect(waiting(it)).toEqual([1, 2]);
  });

  it('H16: wait for a hub that says nothing no longer than patience lasts', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, { ...PATIENT, patience: 200, attempts: 1 });
    it.hub.mischief = () => true;
    await expect(hub.visit()).rejects.toMatchObject({
      code: 'HUB_UNREACHABLE',
      message: expect.stringContaining('too long'),
    });
    expect(waiting(it)).toEqual([1, 2]);
  });
});
