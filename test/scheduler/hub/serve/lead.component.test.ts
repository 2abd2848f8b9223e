import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { type Duty, lead, type LeadOptions } from '../../../../scheduler/hub/serve/lead.ts';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('with SQLite the hub leads from start to end, and its duties are woken and ended in order', async () => {
  await using folder = await temporaryDirectory();
  const db = join(folder.path, 'hub.db');
  await using store = await openStore(db, 'acme');
  const done: string[] = [];
  const duty =
    (name: string): Duty =>
    async ({ confirm }) => {
      await confirm();
      done.push(`${name} starts`);
      return {
        wake: (what) => void done.push(`${name}: ${what}`),
        [Symbol.asyncDispose]: async () => void done.push(`${name} ends`),
      };
    };
  const options: Omit<LeadOptions, 'duties'> = {
    db,
    store,
    clock: () => new Date('2026-11-21T08:00:00Z'),
    log: pino({ level: 'silent' }),
    name: 'office',
  };
  const leadership = await lead({ ...options, duties: [duty('loop'), duty('mirror')] });
  expect(leadership.isLeading()).toBe(true);
  await expect(lead({ ...options, duties: [] })).rejects.toMatchObject({ code: 'BUSY' });
  leadership.wake('sites');
  await leadership[Symbol.asyncDispose]();
  expect(leadership.isLeading()).toBe(false);
  expect(done).toEqual([
    'loop starts',
    'mirror starts',
    'loop: sites',
    'mirror: sites',
    'mirror ends',
    'loop ends',
  ]);
  const failing = new Error('no policies');
  await expect(lead({ ...options, duties: [duty('loop'), () => Promise.reject(failing)] })).rejects.toBe(
    failing,
  );
  expect(done.slice(6)).toEqual(['loop starts', 'loop ends']);
  const [row] = await store.db.selectFrom('fleet').select(['leader', 'leader_since', 'term']).execute();
  expect(row).toEqual({ leader: 'office', leader_since: '2026-11-21T08:00:00Z', term: 1 });
});
