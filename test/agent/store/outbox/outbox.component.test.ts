import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Event, encodeEvent, hashLine } from '#bundles/formats/events/event';
import { verifyReport } from '#bundles/trust/reports/report';
import { loadKey } from '../../../../agent/hub/agent-key.ts';
import { exportReports } from '../../../../agent/report/export-reports.ts';
import { changesOf, listed } from '../../../../agent/store/outbox/changes.ts';
import { appendEvent, type NewEvent } from '../../../../agent/store/outbox/outbox.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { agentKey, createWorld, onePackage, type World } from '../../world.ts';

describe('the outbox', () => {
  it('appends an event only in the transaction of its change', async () => {
    await using world = await createWorld();
    expect(() => appendEvent(world.agent, { type: 'drift' })).toThrow('outside a transaction');
    const { db } = world.agent.state;
    const change = db.transaction(() => {
      appendEvent(world.agent, { type: 'drift', message: 'm'.repeat(5000) });
      throw new Error('the change did not happen');
    });
    expect(() => change()).toThrow('did not happen');
    expect(world.events()).toHaveLength(1);
  });

  const tell = ({ agent }: World, happening: NewEvent): void =>
    agent.state.db.transaction(() => appendEvent(agent, happening))();

  /** The events as the office reads them, which refuses all of a report for one event that is too long. */
  const reported = async ({ agent }: World) => {
    await using stick = await temporaryDirectory('outbox-stick');
    const key = await loadKey(agent);
    const [{ files } = { files: [] }] = await exportReports(agent, key, stick.path);
    const [events, statement] = await Promise.all(files.map((file) => readFile(join(stick.path, file))));
    if (!events || !statement) throw new Error('no report');
    return verifyReport({ events, statement }, agentKey(agent), 'the report').events;
  };

  it('has no event that is too long for the office: the lists of its detail are left out', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'content')]);
    const causes = Array.from({ length: 2000 }, (_, index) => `a cause with the number ${index} and more`);
    tell(world, { type: 'reboot', message: '設'.repeat(5000), detail: { state: 'required', causes } });
    expect(world.events().at(-1)?.detail).toEqual({ state: 'required' });
    tell(world, { type: 'drift', detail: { text: 'x'.repeat(70_000) } });
    expect(world.events().at(-1)).not.toHaveProperty('detail');
    tell(world, { type: 'drift', detail: { drift: [] } });
    expect((await reported(world)).slice(-3).map(({ type }) => type)).toEqual(['reboot', 'drift', 'drift']);
  });

  it('hands over what follows an event that is too long, which an older agent has stored', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'content')]);
    tell(world, { type: 'reboot', assignment: 'app', message: 'told by an older agent' });
    const { db } = world.agent.state;
    const old = world.events().at(-1) as Event;
    const line = encodeEvent({ ...old, detail: { causes: ['x'.repeat(70_000)] } });
    db.prepare('UPDATE outbox SET line = ?, hash = ? WHERE seq = ?').run(line, hashLine(line), old.seq);
    db.prepare('UPDATE chain SET head = ?').run(hashLine(line));
    tell(world, { type: 'drift', message: 'told after the upgrade' });
    const [replaced, after] = (await reported(world)).slice(-2);
    expect([replaced?.type, replaced?.seq, after?.message]).toEqual([
      'compacted',
      old.seq,
      'told after the upgrade',
    ]);
  });

  it('ends a message that was cut within a character with U+FFFD', async () => {
    await using world = await createWorld();
    tell(world, { type: 'drift', message: `${'m'.repeat(3999)}\u{1f527}` });
    expect(world.events().at(-1)?.message).toBe(`${'m'.repeat(3999)}\u{fffd}`);
  });
});

describe('the changes an event lists', () => {
  it('are at most 200 and short enough for a report, with the others counted', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      key: `file:/opt/${index}`,
      outcome: 'created' as const,
      reason: 'missing',
    }));
    const { changes, more, unchanged } = changesOf([
      ...many,
      { key: 'file:/same', outcome: 'unchanged', reason: '' },
    ]);
    expect(changes).toHaveLength(200);
    expect({ more, unchanged }).toEqual({ more: 300, unchanged: 1 });
    const long = listed(Array.from({ length: 200 }, () => 'x'.repeat(1000)));
    expect(JSON.stringify(long.shown).length).toBeLessThan(48 << 10);
    expect(long.shown.length + long.more).toBe(200);
  });
});
