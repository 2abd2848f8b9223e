import { expect, test } from 'vitest';
import { pauseOrResume, rejectFor } from '../../../../../scheduler/hub/promote/decide/decide-about.ts';
import { listAudit } from '../../../../../scheduler/hub/promote/decide/list-audit.ts';
import { promoteTo } from '../../../../../scheduler/hub/promote/decide/promote-to.ts';
import { NOW } from '../../../release/removals/office.ts';
import { chainedOffice } from './chained-office.ts';

const { signal } = new AbortController();
const wish = {
  environment: 'prod',
  candidate: undefined,
  person: 'anna',
  now: NOW,
  signal,
  repeats: undefined,
};

test('the audit log is listed newest first, in pages without gaps', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  await promoteTo(chain, { ...wish, reason: 'line 3 asked for it' });
  await pauseOrResume(chain, 'pause', { ...wish, reason: 'stock taking' });
  await rejectFor(chain, { ...wish, person: 'ben', reason: 'orders are lost' });
  const { hub } = chain;
  const whole = await listAudit(hub, {}, { limit: 10 });
  expect(whole).toMatchObject({
    entries: [
      { number: 3, kind: 'decision', what: 'reject', person: 'ben', reason: 'orders are lost' },
      { number: 2, kind: 'decision', what: 'pause', person: 'anna', candidate: null, promotion: null },
      {
        number: 1,
        kind: 'promotion',
        environment: 'prod',
        promotion: { number: 1, from: 'qa' },
        reason: 'line 3 asked for it',
      },
    ],
    next: null,
  });
  expect(whole.head).toBe(whole.entries[0]?.digest);
  const first = await listAudit(hub, { environment: 'prod' }, { limit: 2 });
  const second = await listAudit(hub, { environment: 'prod' }, { limit: 2, cursor: first.next ?? '' });
  expect([...first.entries, ...second.entries]).toEqual(whole.entries);
  expect(second.next).toBeNull();
  expect((await listAudit(hub, { environment: 'qa' }, { limit: 2 })).entries).toEqual([]);
  const visible = { whole: new Set(['qa']), parts: new Map([['prod', new Set(['labels-host'])]]) };
  expect((await listAudit(hub, { visible }, { limit: 2 })).entries).toEqual([]);
  await expect(listAudit(hub, {}, { limit: 2, cursor: 'x' })).rejects.toMatchObject({ code: 'USAGE' });
});

test('the audit log is empty before the first decision', async () => {
  const { hub } = await (await chainedOffice()).openChain();
  expect(await listAudit(hub, {}, { limit: 2 })).toEqual({ head: null, entries: [], next: null });
});
