import { cpSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import {
  chain,
  enrolled,
  FLEET,
  happenings,
  report,
  testHub,
  applied,
  count,
  digest,
} from '../../test-hub.ts';

describe('an interrupted import of a report', () => {
  it('leaves either nothing of the report or all of it, after any statement', async () => {
    const snapshots: string[] = [];
    const looks = new Set<string>();
    let watch: string | undefined;
    await using hub = await testHub({
      log: () => {
        if (watch === undefined) return;
        // What a pulled plug leaves: the files as they are between two statements.
        const files = ['hub.db', 'hub.db-wal'].map((name) => join(watch as string, name));
        const look = digestOf(Buffer.concat(files.map((file) => readFileSync(file))));
        if (looks.has(look)) return;
        looks.add(look);
        const copy = join(watch, `snapshot-${snapshots.length}`);
        for (const file of files) cpSync(file, join(copy, basename(file)));
        snapshots.push(copy);
      },
    });
    const agent = await enrolled(hub, 'plant-7/press-1');
    const stick = await hub.stick();
    const lines = chain(agent, [
      applied('oven', '1'),
      ...happenings(3),
      applied('oven', '2'),
      ...happenings(2),
    ]);
    await report(stick, agent, lines, 1, 4);
    await report(stick, agent, lines, 5, 7);
    watch = hub.path;
    await hub.importFrom(stick);
    watch = undefined;
    const seen = new Set<string>();
    for (const snapshot of snapshots) {
      await using store = await openStore(join(snapshot, 'hub.db'), FLEET);
      const events = await count(store.db, 'event');
      const row = await store.db.selectFrom('agent').select('head_seq').executeTakeFirstOrThrow();
      const state = await store.db.selectFrom('assignment_state').select('package').executeTakeFirst();
      const receipt = await store.db.selectFrom('receipt').select('to_seq').executeTakeFirst();
      expect({ events, head: row.head_seq }).toEqual({ events, head: events });
      expect(state?.package).toBe(events === 0 ? undefined : digest(events === 4 ? '1' : '2'));
      seen.add(`${events} ${await count(store.db, 'report')} ${receipt?.to_seq ?? 0}`);
    }
    expect([...seen]).toEqual(['0 0 0', '4 1 0', '7 2 0', '7 2 7']);
  });
});
