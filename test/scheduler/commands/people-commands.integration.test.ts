import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import BreakGlass from '../../../scheduler/commands/break-glass.ts';
import SessionsEnd from '../../../scheduler/commands/sessions/end.ts';
import SessionsList from '../../../scheduler/commands/sessions/list.ts';
import { breakGlass } from '../../../scheduler/hub/people/break-glass.ts';
import { NOW, type TestHub, testHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const WHY = ['--reason', 'a test'];

const places = (hub: TestHub): readonly string[] =>
  Object.entries({
    keys: join(hub.path, 'keys'),
    layout: hub.layout,
    db: hub.db,
    now: '2026-11-21T08:00:00Z',
  }).flatMap(([flag, value]) => [`--${flag}`, value]);

describe('break-glass and sessions', () => {
  it('create a code, list the session that it opened, and end it', async () => {
    await using hub = await testHub();
    const made = await runCommandClass(BreakGlass, [
      ...places(hub),
      '--person',
      'mara',
      '--reason',
      'login.example is down',
    ]);
    expect(made.out).toMatch(/^ffb_[A-Za-z0-9_-]{32}\n$/);
    expect(made.err).toContain("an admin's session until 2026-11-21T09:00:00Z");
    expect((await runCommandClass(SessionsList, places(hub))).out).toContain(
      'No session in the last 30 days',
    );
    const { row } = await breakGlass(hub.store, made.out.trim(), NOW);
    const listed = await runCommandClass(SessionsList, places(hub));
    expect(listed.out).toBe(
      `${row.id}  break-glass  mara  since 2026-11-21T08:00:00Z  until 2026-11-21T09:00:00Z\n`,
    );
    expect((await runCommandClass(SessionsEnd, [...places(hub), ...WHY, 'mara'])).out).toBe(
      '1 session of mara ended\n',
    );
    expect((await runCommandClass(SessionsList, places(hub))).out).toContain('ended: ended at the office');
    const again = await runCommandClass(SessionsEnd, [...places(hub), ...WHY, row.id]);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('there is no open session')]);
  });

  it.each([
    ['--person', ' '],
    ['--reason', ''],
    ['--for', '9h'],
    ['--for', '1d'],
  ])('refuse %s %j in one message', async (flag, value) => {
    await using hub = await testHub();
    const given = { '--person': 'mara', '--reason': 'drill', [flag]: value };
    const { code, err } = await runCommandClass(BreakGlass, [
      ...places(hub),
      ...Object.entries(given).flat(),
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining(flag)]);
  });
});
