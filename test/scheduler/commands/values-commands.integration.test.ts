import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generatePrivateKey } from '#bundles/trust/keys/key';
import SitesList from '../../../scheduler/commands/sites/list.ts';
import SitesSet from '../../../scheduler/commands/sites/set.ts';
import SitesValuesApprove from '../../../scheduler/commands/sites/values/approve.ts';
import SitesValuesList from '../../../scheduler/commands/sites/values/list.ts';
import SitesValuesProposals from '../../../scheduler/commands/sites/values/proposals.ts';
import SitesValuesReject from '../../../scheduler/commands/sites/values/reject.ts';
import SitesValuesRollback from '../../../scheduler/commands/sites/values/rollback.ts';
import { INPUTS, release } from '../hub/promote/values/values-hub.ts';
import { openLayout } from '#bundles/formats/layout/layout';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { enrolledHub, type TestHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

/** Runs a command at a day of November, with a review of one approval. */
const run = async (
  hub: TestHub,
  command: Parameters<typeof runCommandClass>[0],
  { day = 21, words }: { readonly day?: number; readonly words: readonly string[] },
) => {
  const config = join(hub.path, 'fleet-scheduler.yaml');
  await writeFile(config, 'siteValues: {approvals: {required: 1}, roles: {network: {required: 0}}}\n', {
    mode: 0o600,
  });
  const places = [
    '--config',
    config,
    '--keys',
    join(hub.path, 'keys'),
    '--layout',
    hub.layout,
    '--db',
    hub.db,
  ];
  return runCommandClass(command, [...words, ...places, '--now', `2026-11-${day}T08:00:00Z`]);
};

it('commands and the audit log withhold a value that a schema hides', async () => {
  await using hub = await enrolledHub();
  await release(hub, 1, {
    ...INPUTS,
    greeting: { type: 'string', writeOnly: true, 'x-editable-by': 'network' },
  });
  const by = ['--person', 'ann', '--reason', 'new line'];
  const set = ['plant-7', 'greeting=hush', ...by];
  expect(await run(hub, SitesSet, { words: set })).toMatchObject({ code: 0 });
  await run(hub, SitesSet, { day: 22, words: ['plant-7', 'greeting=hush-hush', 'line=7', ...by] });
  const dry = { day: 22, words: ['plant-7', 'greeting=hush', '--dry-run', ...by] };
  const outputs = [
    await run(hub, SitesList, { day: 22, words: ['--json'] }),
    await run(hub, SitesList, { day: 22, words: [] }),
    await run(hub, SitesValuesList, { day: 22, words: ['plant-7'] }),
    await run(hub, SitesValuesList, { day: 22, words: ['plant-7', '--json'] }),
    await run(hub, SitesValuesProposals, { day: 22, words: [] }),
    await run(hub, SitesValuesProposals, { day: 22, words: ['--json'] }),
    await run(hub, SitesSet, dry),
  ];
  for (const { code, out, err } of outputs) {
    // The list of sites names the values that the site lacks.
    expect([code, err.replaceAll(/^plant-7 lacks a value since .*\n/gm, '')]).toEqual([0, '']);
    expect(out).not.toContain('hush');
  }
  expect(outputs.slice(0, 6).filter(({ out }) => out.includes('withheld'))).toHaveLength(6);
  const noted = await hub.store.db.selectFrom('pending_change').selectAll().execute();
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  const changes = JSON.stringify([noted, entries.map(({ predicate }) => predicate)]);
  expect(changes).toContain('sites values propose');
  expect(changes).not.toContain('hush');
});

it('a value waits for the approval of another person, is made, shown for its day, and taken back by another decision', async () => {
  await using hub = await enrolledHub();
  await release(hub, 1);
  const key = ['--key', join(hub.path, 'keys', 'bundle.key')];
  const ann = ['--person', 'ann', '--reason', 'new line'];
  const direct = await run(hub, SitesSet, { words: ['plant-7', 'gate=10.0.0.1', ...ann] });
  expect([direct.code, direct.out]).toEqual([0, expect.stringContaining('is at statement 2')]);
  const proposed = await run(hub, SitesSet, { day: 22, words: ['plant-7', 'line=7', ...ann] });
  expect(proposed.out).toContain('it waits for approvals: 1, not by the author. Nothing was changed yet');
  const [, id = ''] = /proposed as ([0-9a-f]{12})/.exec(proposed.out) ?? [];
  const shown = await run(hub, SitesValuesProposals, { words: [] });
  expect(shown.out).toContain('plant-7  line: nothing -> 7');
  const own = await run(hub, SitesValuesApprove, { day: 22, words: [id, ...key, '--person', 'ann'] });
  expect([own.code, own.err]).toEqual([
    2,
    expect.stringContaining('the author of a change cannot approve it'),
  ]);
  const stranger = join(hub.path, 'stranger.key');
  await writeFile(stranger, generatePrivateKey(), { mode: 0o600 });
  const unknown = await run(hub, SitesValuesApprove, {
    day: 22,
    words: [id, '--key', stranger, '--person', 'eve'],
  });
  expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('UNKNOWN_KEY')]);
  const made = await run(hub, SitesValuesApprove, { day: 23, words: [id, ...key, '--person', 'bob'] });
  expect([made.code, made.out]).toEqual([0, expect.stringContaining('plant-7 is at statement 3')]);
  const list = await run(hub, SitesValuesList, { day: 24, words: ['plant-7'] });
  expect(list.out).toMatch(/gate="10.0.0.1" {2}2026-11-21T08:00:00Z {2}by ann: new line/);
  expect(list.out).toMatch(
    /line=7 {2}2026-11-23T08:00:00Z {2}by ann: new line \(proposal [0-9a-f]{12}, approved by bob\)/,
  );
  const past = await run(hub, SitesValuesList, { day: 24, words: ['plant-7', '--at', '2026-11-22'] });
  expect(past.out).not.toContain('line=7');
  const early = await run(hub, SitesValuesList, { day: 24, words: ['plant-7', '--at', '2026-10-04'] });
  expect([early.code, early.err]).toEqual([2, expect.stringContaining('The record begins at')]);

  const undo = ['plant-7', '--to', '2', '--reason', 'wrong line', '--person', 'carl'];
  const dry = await run(hub, SitesValuesRollback, { day: 24, words: [...undo, '--dry-run'] });
  expect(dry.out).toContain('line: 7 -> nothing');
  const back = await run(hub, SitesValuesRollback, { day: 24, words: undo });
  const [, second = ''] = /proposed as ([0-9a-f]{12})/.exec(back.out) ?? [];
  const rejected = await run(hub, SitesValuesReject, {
    day: 24,
    words: [second, '--reason', 'it stays', '--person', 'bob'],
  });
  expect(rejected.out).toContain('by carl is rejected; no value was changed');
  const again = await run(hub, SitesValuesRollback, { day: 25, words: undo });
  const [, third = ''] = /proposed as ([0-9a-f]{12})/.exec(again.out) ?? [];
  expect(
    await run(hub, SitesValuesApprove, { day: 25, words: [third, ...key, '--person', 'bob'] }),
  ).toMatchObject({
    code: 0,
  });
  const end = await run(hub, SitesValuesList, { day: 26, words: ['plant-7'] });
  expect(end.out).not.toContain('line=7');
  const none = await run(hub, SitesValuesRollback, {
    day: 26,
    words: ['plant-7', '--to', '99', '--reason', 'x'],
  });
  expect([none.code, none.err]).toEqual([
    2,
    expect.stringContaining('no values of plant-7 are recorded for 99'),
  ]);
});
