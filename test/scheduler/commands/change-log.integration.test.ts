import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import AuditList from '../../../scheduler/commands/audit/list.ts';
import AuditVerify from '../../../scheduler/commands/audit/verify.ts';
import BreakGlass from '../../../scheduler/commands/break-glass.ts';
import SecretsRemove from '../../../scheduler/commands/secrets/remove.ts';
import SessionsEnd from '../../../scheduler/commands/sessions/end.ts';
import SitesFollow from '../../../scheduler/commands/sites/follow.ts';
import SitesRenew from '../../../scheduler/commands/sites/renew.ts';
import SitesRevoke from '../../../scheduler/commands/sites/revoke.ts';
import SitesSet from '../../../scheduler/commands/sites/set.ts';
import TokensCreate from '../../../scheduler/commands/tokens/create.ts';
import TokensRevoke from '../../../scheduler/commands/tokens/revoke.ts';
import { formatTime } from '#bundles/time';
import { appendChanges } from '../../../scheduler/hub/changes/append-changes.ts';
import { breakGlass } from '../../../scheduler/hub/people/break-glass.ts';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { lockLayout } from '../../../scheduler/release/write/lock-layout.ts';
import { enrolledHub, NOW, type TestHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

type Command = Parameters<typeof runCommandClass>[0];

const places = (hub: TestHub): readonly string[] =>
  Object.entries({
    keys: join(hub.path, 'keys'),
    layout: hub.layout,
    db: hub.db,
    now: '2026-11-21T08:00:00Z',
  }).flatMap(([flag, value]) => [`--${flag}`, value]);

const notDatabase = (word: string, at: number, words: readonly string[]): boolean =>
  word !== '--db' && words[at - 1] !== '--db';

const ADA = ['--person', 'ada', '--reason', 'line 3 moves'];

const run = async (hub: TestHub, command: Command, ...args: readonly string[]) => {
  const of = command === AuditList || command === AuditVerify ? places(hub).filter(notDatabase) : places(hub);
  const done = await runCommandClass(command, [...args, ...of]);
  expect([done.code, done.code === 0 ? '' : done.err]).toEqual([0, '']);
  return done;
};

const changesOf = async (hub: TestHub) => {
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  return entries.flatMap((entry) => (entry.kind === 'change' ? [entry.predicate] : []));
};

describe('the audit log entries of changes by commands', () => {
  it('have person, reason, old and new state for each change', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    await run(
      hub,
      SitesSet,
      'plant-7',
      'port=8080',
      'ratio=0.5',
      'adminPassword=hunter2',
      '--allow-unknown',
      ...ADA,
    );
    await run(hub, SitesSet, 'plant-7', 'port=8081', '--allow-unknown', ...ADA);
    await run(hub, SitesSet, 'plant-7', '--agent', agent.name, '--freshness', 'lease:14d', ...ADA);
    await run(hub, SitesRenew, '--within', '400', ...ADA);
    const followed = ['plant-7/edge', '--by', 'flux', '--channel', 'prod/edge', '--allow-unreleased'];
    const follower = await run(hub, SitesFollow, ...followed, ...ADA);
    const token = await run(
      hub,
      TokensCreate,
      '--site',
      'plant-7',
      '--operator',
      'ada',
      '--reason',
      'new press',
    );
    const id = /Token (\w+),/.exec(token.err)?.[1] ?? '';
    await run(hub, TokensRevoke, id, ...ADA);
    const code = await run(hub, BreakGlass, '--person', 'mara', '--operator', 'ada', '--reason', 'drill');
    await breakGlass(hub.store, code.out.trim(), NOW);
    await run(hub, SessionsEnd, 'mara', ...ADA);
    await run(hub, SitesRevoke, agent.id, ...ADA);
    const changes = await changesOf(hub);
    expect(changes.map(({ change, about, person }) => [change, about, person])).toEqual([
      ['sites enroll', agent.id, null],
      ['sites set', 'plant-7', 'ada'],
      ['sites set', 'plant-7', 'ada'],
      ['sites set', agent.id, 'ada'],
      ['sites renew', 'plant-7', 'ada'],
      ['sites follow', 'plant-7/edge', 'ada'],
      ['tokens create', id, 'ada'],
      ['tokens revoke', id, 'ada'],
      ['break-glass', expect.any(String), 'ada'],
      ['break-glass', expect.any(String), 'mara'],
      ['sessions end', 'mara', 'ada'],
      ['sites revoke', agent.id, 'ada'],
    ]);
    expect(changes[1]).toMatchObject({
      reason: 'line 3 moves',
      old: {},
      new: { port: 8080, ratio: '0.5', adminPassword: 'withheld' },
    });
    expect(changes[2]).toMatchObject({ old: { port: 8080 }, new: { port: 8081 } });
    expect(changes.at(-1)).toMatchObject({
      reason: 'line 3 moves',
      old: { channel: 'prod/factory-host', key: expect.stringMatching(/^[0-9a-f]{64}$/) },
      new: null,
    });
    const text = JSON.stringify(changes);
    for (const secret of ['hunter2', follower.out.trim(), token.out.trim(), code.out.trim()])
      expect(text).not.toContain(secret);
    expect((await run(hub, AuditVerify)).out).toContain('12 changes');
    const listed = await run(hub, AuditList, '--about', agent.id);
    expect(listed.out.split('\n').filter((line) => line !== '')).toHaveLength(3);
    expect(listed.out).toContain('by ada: line 3 moves');
    expect((await run(hub, AuditList, '--about', 'plant-7')).out.split('\n')).toHaveLength(8);
  });

  it('are refused without --reason for removals when there is no terminal, and nothing changes', async () => {
    await using hub = await enrolledHub();
    const before = await hub.store.db.selectFrom('agent').selectAll().execute();
    const tries: readonly (readonly [Command, readonly string[]])[] = [
      [SitesRevoke, [hub.agent.id]],
      [TokensRevoke, ['5f3c0a91b2d4']],
      [SessionsEnd, ['mara']],
      [SecretsRemove, ['--site', 'plant-7', '--name', 'mqtt']],
    ];
    for (const [command, args] of tries) {
      const { code, err } = await runCommandClass(command, [...args, ...places(hub)]);
      expect([code, err]).toEqual([2, expect.stringContaining('--reason is missing')]);
      const blank = await runCommandClass(command, [...args, ...places(hub), '--reason', ' ']);
      expect([blank.code, blank.err]).toEqual([2, expect.stringContaining('a reason has 1 to 1000')]);
    }
    expect(await hub.store.db.selectFrom('agent').selectAll().execute()).toEqual(before);
  });

  it('wait in the database while a build holds the layout, and are appended once by the next command', async () => {
    await using hub = await enrolledHub();
    await appendChanges(hub, { command: 'test', now: NOW });
    {
      using _ = await lockLayout(hub.layout, 'build', NOW);
      const made = await runCommandClass(TokensCreate, ['--reader', ...places(hub)]);
      expect([made.code, made.err]).toEqual([0, expect.stringContaining("waits in the hub's database")]);
      expect(await changesOf(hub)).toHaveLength(1);
    }
    await run(hub, TokensCreate, '--reader');
    expect((await changesOf(hub)).map(({ change }) => change)).toEqual([
      'sites enroll',
      'tokens create',
      'tokens create',
    ]);
    expect(await appendChanges(hub, { command: 'test', now: NOW })).toEqual({
      appended: 0,
      waiting: undefined,
    });
  });

  it('have the entry of a killed write into a repository after the next command, without a hub that serves', async () => {
    await using hub = await enrolledHub();
    const change = {
      change: 'sites set in repository',
      about: 'plant-7',
      old: null,
      new: { end: 'unknown' },
    };
    const begin = async (id: string, minutes: number): Promise<void> => {
      const begun_at = formatTime(new Date(NOW.getTime() - minutes * 60_000));
      const changes = JSON.stringify({ by: { person: 'ann', reason: 'new line' }, begun: [change] });
      await hub.store.db.insertInto('unfinished_write').values({ id, begun_at, changes }).execute();
    };
    await begin('killed', 20);
    await begin('goes on', 1);
    await run(hub, TokensCreate, '--reader');
    await run(hub, TokensCreate, '--reader');
    const written = (await changesOf(hub)).filter((one) => one.change === change.change);
    expect(written).toMatchObject([{ person: 'ann', reason: 'new line', new: { end: 'unknown' } }]);
    const left = await hub.store.db.selectFrom('unfinished_write').select('id').execute();
    expect(left).toEqual([{ id: 'goes on' }]);
  });

  it('are written once when the process is killed between entry and note', async () => {
    await using hub = await enrolledHub();
    const notes = await hub.store.db.selectFrom('pending_change').selectAll().execute();
    const { audit_head } = await hub.store.db
      .selectFrom('fleet')
      .select('audit_head')
      .executeTakeFirstOrThrow();
    await appendChanges(hub, { command: 'test', now: NOW });
    // One transaction removes the notes and remembers the newest entry: neither has happened.
    await hub.store.db.insertInto('pending_change').values(notes).execute();
    await hub.store.db.updateTable('fleet').set({ audit_head }).execute();
    await appendChanges(hub, { command: 'test', now: new Date(NOW.getTime() + 60_000) });
    expect(await changesOf(hub)).toHaveLength(1);
    expect(await hub.store.db.selectFrom('pending_change').selectAll().execute()).toEqual([]);
  });
});
