import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import Restore from '../../../scheduler/commands/restore.ts';
import Revoke from '../../../scheduler/commands/revoke.ts';
import SecretsRemove from '../../../scheduler/commands/secrets/remove.ts';
import SecretsReseal from '../../../scheduler/commands/secrets/reseal.ts';
import SecretsSet from '../../../scheduler/commands/secrets/set.ts';
import { appendChanges } from '../../../scheduler/hub/changes/append-changes.ts';
import { backUp } from '../../../scheduler/hub/upkeep/backup/backup.ts';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { enrolWithAge, hubWithAge, PASSWORD } from '../hub/sites/secrets/secret-site.ts';
import { enrolledHub, HOSTS, NOW, type TestHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const LATER = '2026-11-21T08:05:00Z';
const ADA = ['--person', 'ada', '--reason', 'line 3 moves'];
const BY_ADA = { person: 'ada', reason: 'line 3 moves' };

const places = (hub: TestHub, given: Readonly<Record<string, string>> = {}): readonly string[] =>
  Object.entries({ keys: join(hub.path, 'keys'), layout: hub.layout, now: LATER, ...given }).flatMap(
    ([flag, value]) => [`--${flag}`, value],
  );

const changesOf = async (hub: TestHub, layout = hub.layout) => {
  const { entries } = await readAuditLog(await openLayout(layout), hub.keys.roots);
  return entries.flatMap((entry) => (entry.kind === 'change' ? [entry.predicate] : []));
};

describe('the audit log entry, with person, reason, old and new state', () => {
  it('of secrets set, reseal and remove names keys and recipients, and no value', async () => {
    await using hub = await hubWithAge();
    const escrow = await generateAgeIdentity();
    const file = (name: string): string => join(hub.path, name);
    await writeFile(file('fleet-scheduler.yaml'), `secrets: {escrow: ${escrow.recipient}}\n`);
    await writeFile(file('escrow.txt'), escrow.identity);
    await writeFile(file('pw'), PASSWORD);
    const flags = [...places(hub, { db: hub.db, config: file('fleet-scheduler.yaml') }), '--site', 'plant-7'];
    const set = [...flags, ...ADA, '--name', 'mqtt', '--from-file', `password=${file('pw')}`];
    succeed(await runCommandClass(SecretsSet, set));
    succeed(await runCommandClass(SecretsSet, set));
    const two = await enrolWithAge(hub, 'plant-7/press-2');
    succeed(await runCommandClass(SecretsReseal, [...flags, ...ADA, '--identity', file('escrow.txt')]));
    succeed(await runCommandClass(SecretsRemove, [...flags, ...ADA, '--name', 'mqtt']));
    const changes = (await changesOf(hub)).filter(({ change }) => change.startsWith('secrets'));
    const about = { ...BY_ADA, about: 'plant-7/mqtt' };
    const keys = ['password'];
    const before = [hub.one.recipient, escrow.recipient];
    expect(changes).toMatchObject([
      { ...about, change: 'secrets set', old: null, new: { version: 1, keys, readers: ['press-1'] } },
      { ...about, change: 'secrets set', old: { version: 1 }, new: { version: 2, keys } },
      { ...about, change: 'secrets reseal', old: { recipients: expect.any(Array) } },
      { ...about, change: 'secrets remove', old: { version: 2 }, new: null },
    ]);
    const resealed = changes[2] as { readonly old: unknown; readonly new: unknown } | undefined;
    const sorted = (state: unknown) => (state as { recipients: string[] }).recipients.toSorted();
    expect(sorted(resealed?.old)).toEqual(before.toSorted());
    expect(sorted(resealed?.new)).toEqual([...before, two.recipient].toSorted());
    const text = JSON.stringify(changes);
    for (const secret of [PASSWORD, escrow.identity]) expect(text).not.toContain(secret);
  });

  it('of revoke names the bundle, and the releases before and after; a repeated one adds none', async () => {
    await using hub = await enrolledHub();
    const release = async (version: number): Promise<string> => {
      const packages = { web: { 'app.yaml': `text: ${version}\n` } };
      const bundles = [{ kind: 'kubernetes' as const, packages }];
      const [bundle] = await hub.layoutWriter.release({ channel: HOSTS, version, bundles, issuedAt: NOW });
      await hub.layoutWriter.keep(HOSTS);
      return bundle ?? '';
    };
    await release(1);
    const bad = await release(2);
    const revoke = [bad, ...places(hub), ...ADA, '--to', '1'];
    succeed(await runCommandClass(Revoke, revoke));
    succeed(await runCommandClass(Revoke, revoke));
    expect(await changesOf(hub)).toMatchObject([
      {
        ...BY_ADA,
        change: 'revoke',
        about: `prod/factory-host ${bad}`,
        old: { release: 2 },
        new: { release: 3, instead: 1 },
      },
    ]);
  });

  it('of restore names the time of the backup, after the entries that the backup has', async () => {
    await using hub = await enrolledHub();
    await appendChanges(hub, { command: 'test', now: NOW });
    const backup = join(hub.path, 'backup');
    await backUp(hub, hub.db, backup, { now: NOW, signal: new AbortController().signal });
    const [layout, db] = [join(hub.path, 'restored'), join(hub.path, 'restored.db')];
    succeed(await runCommandClass(Restore, [backup, ...places(hub, { layout, db }), ...ADA]));
    expect(await changesOf(hub, layout)).toMatchObject([
      { change: 'sites enroll' },
      { ...BY_ADA, change: 'restore', about: 'hub', old: null, new: { backupAt: '2026-11-21T08:00:00Z' } },
    ]);
  });
});
