import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { openLayout, writeLayoutIndex } from '#bundles/formats/layout/layout';
import { appendChanges } from '../../../../scheduler/hub/changes/append-changes.ts';
import { noteChange } from '../../../../scheduler/hub/changes/note-change.ts';
import { forgetHead, readHead } from '../../../../scheduler/hub/changes/remember-head.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { AUDIT_REFERENCE } from '../../../../scheduler/load/releases/references.ts';
import { renewRelease } from '../../../../scheduler/release/reissue/renew-release.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { recordChange } from '../../../../scheduler/release/audit/record-change.ts';
import { openReleaseOffice } from '../../release/reissue/release-office.ts';
import { enrolledHub, NOW, type TestHub } from '../test-hub.ts';

const BY = { person: 'eve', reason: 'at night' };
const change = (about: string) => ({ change: 'sites set', about, old: null, new: null });

const append = async (hub: TestHub, about: string) => {
  await hub.store.transact((tx) => noteChange(tx, change(about), BY, NOW));
  return await appendChanges(hub, { command: 'test', now: NOW });
};

const aboutsOf = async (hub: TestHub): Promise<readonly string[]> => {
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  return entries.map(({ predicate }) => ('about' in predicate ? (predicate.about ?? '') : ''));
};

it('I3: an older log of the layout is put back, whole and valid: nothing is appended to it', async () => {
  await using hub = await enrolledHub();
  await append(hub, 'first');
  const index = join(hub.layout, 'index.json');
  const older = await readFile(index);
  await append(hub, 'second');
  const newest = await readFile(index);
  await writeFile(index, older);
  const { waiting } = await append(hub, 'third');
  expect(waiting).toMatchObject({ code: 'AUDIT_TRUNCATED' });
  expect(await aboutsOf(hub)).not.toContain('third');
  // With the newest copy it goes on, and what waited is appended.
  await writeFile(index, newest);
  expect(await appendChanges(hub, { command: 'test', now: NOW })).toMatchObject({ appended: 1 });
  expect((await aboutsOf(hub)).slice(-3)).toEqual(['first', 'second', 'third']);
});

it('I3: an older log is put back while a part of the changes waits: nothing is appended to it', async () => {
  await using hub = await enrolledHub();
  await append(hub, 'first');
  const index = join(hub.layout, 'index.json');
  const older = await readFile(index);
  await hub.store.transact(async (tx) => {
    for (let number = 0; number < 1100; number += 1)
      await noteChange(tx, change(`of many ${number}`), BY, NOW);
  });
  // The key goes away between two batches.
  let left = 2;
  const keys = {
    ...hub.keys,
    key: async (role: Parameters<typeof hub.keys.key>[0]) => {
      if (left-- > 0) return hub.keys.key(role);
      throw new FleetError('KEY_MISSING', 'the key is locked away');
    },
  };
  const { appended, waiting } = await appendChanges({ ...hub, keys }, { command: 'test', now: NOW });
  expect(waiting).toMatchObject({ code: 'KEY_MISSING' });
  expect(appended).toBeGreaterThan(0);
  expect(appended).toBeLessThan(1100);
  const newest = await readFile(index);
  await writeFile(index, older);
  const { waiting: truncated } = await appendChanges(hub, { command: 'test', now: NOW });
  expect(truncated).toMatchObject({ code: 'AUDIT_TRUNCATED' });
  await writeFile(index, newest);
  expect(await appendChanges(hub, { command: 'test', now: NOW })).toMatchObject({
    appended: 1100 - appended,
  });
  const abouts = (await aboutsOf(hub)).filter((about) => about.startsWith('of many'));
  expect(abouts).toEqual(Array.from({ length: 1100 }, (_, number) => `of many ${number}`));
});

it('I3: the log is removed from the layout: no new one begins', async () => {
  await using hub = await enrolledHub();
  await append(hub, 'first');
  const layout = await openLayout(hub.layout);
  const others = layout.manifests.filter(
    ({ annotations }) => !Object.values(annotations ?? {}).includes(AUDIT_REFERENCE),
  );
  await writeLayoutIndex(layout, others);
  const { waiting } = await append(hub, 'second');
  expect(waiting).toMatchObject({ code: 'AUDIT_TRUNCATED' });
  // A restore is a decision of a person: the log that is there counts from then on.
  await forgetHead(hub);
  expect(await readHead(hub)).toBeNull();
  expect(await appendChanges(hub, { command: 'test', now: NOW })).toMatchObject({ appended: 1 });
});

it('I3: the log is removed from a layout whose release names it: no new one begins without a database either', async () => {
  await using office = await openReleaseOffice();
  const record = async (about: string): Promise<void> => {
    using releases = await openReleases(office.directory, { command: 'test', now: NOW });
    await recordChange(releases, office.keys(), { ...change(about), ...BY }, NOW);
  };
  await office.release(1, 'one');
  await record('first');
  {
    using releases = await office.releases();
    const renewal = {
      channel: { environment: 'prod', clusterType: 'kiosk' },
      previous: await office.current(),
      now: NOW,
      anyway: true,
    };
    const renewed = await renewRelease(await releases.open(), office.keys(), renewal);
    await releases.point(renewed.references, []);
    await releases.point(new Map(), [AUDIT_REFERENCE]);
  }
  await expect(record('second')).rejects.toMatchObject({ code: 'AUDIT_TRUNCATED' });
});
