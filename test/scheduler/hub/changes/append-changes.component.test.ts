import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { SEGMENT_ENTRIES } from '#bundles/formats/statements/audit-lines';
import { readArtifact } from '#bundles/formats/layout/artifact';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { appendChanges } from '../../../../scheduler/hub/changes/append-changes.ts';
import { noteChange } from '../../../../scheduler/hub/changes/note-change.ts';
import { readHead, rememberHead } from '../../../../scheduler/hub/changes/remember-head.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { AUDIT_REFERENCE } from '../../../../scheduler/load/releases/references.ts';
import { enrolledHub, NOW, type TestHub } from '../test-hub.ts';

const note = (hub: TestHub, about: string) =>
  hub.store.transact((tx) =>
    noteChange(
      tx,
      { change: 'sites set', about, old: null, new: null },
      { person: 'eve', reason: 'why' },
      NOW,
    ),
  );

const append = (hub: TestHub) => appendChanges(hub, { command: 'test', now: NOW });

const segmentsOf = async (hub: TestHub) => {
  const layout = await openLayout(hub.layout);
  const artifact = findReference(layout, AUDIT_REFERENCE);
  const documents = artifact ? await readArtifact(layout.blobs, artifact, { what: 'the log' }) : [];
  return documents.filter(({ role }) => role === 'audit-segment');
};

const aboutsOf = async (hub: TestHub): Promise<readonly string[]> => {
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  return entries.flatMap(({ predicate }) =>
    'about' in predicate && predicate.about?.startsWith('change-') ? [predicate.about] : [],
  );
};

const named = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `change-${index}`);

it('changes are in the log once each and in order, in calls of any size, and full segments are unchanged', async () => {
  await using hub = await enrolledHub();
  await append(hub);
  let made = 0;
  for (const count of [1, 2, 40, 7, 230, 1, 300, 3]) {
    const before = await segmentsOf(hub);
    const full = before.slice(0, Math.floor((made + 1) / SEGMENT_ENTRIES));
    for (let index = 0; index < count; index += 1) await note(hub, `change-${made++}`);
    expect(await append(hub)).toMatchObject({ appended: count, waiting: undefined });
    expect((await segmentsOf(hub)).slice(0, full.length)).toEqual(full);
  }
  expect(await aboutsOf(hub)).toEqual(named(made));
});

it('a change is appended without a look at full segments, and a reader finds a missing one', async () => {
  await using hub = await enrolledHub();
  for (const about of named(SEGMENT_ENTRIES + 4)) await note(hub, about);
  await append(hub);
  const [first] = await segmentsOf(hub);
  if (!first) throw new Error('no segment');
  const layout = await openLayout(hub.layout);
  await rm(layout.blobs.path(first.digest));
  await note(hub, 'change-last');
  expect(await append(hub)).toMatchObject({ appended: 1 });
  const reader = { ...(await openLayout(hub.layout)) };
  await expect(readAuditLog(reader, hub.keys.roots)).rejects.toMatchObject({ code: 'MISSING_BLOB' });
});

it('a process that was killed after it appended leaves a note, whose entry no other call appends again', async () => {
  await using hub = await enrolledHub();
  await note(hub, 'change-0');
  await append(hub);
  await note(hub, 'change-1');
  const killed: TestHub = {
    ...hub,
    store: { ...hub.store, transact: () => Promise.reject(new Error('killed')) },
  };
  await expect(append(killed)).rejects.toThrow('killed');
  const before = await readHead(hub);
  // The alarms of serve look at the log meanwhile.
  await rememberHead(hub);
  expect(await readHead(hub)).toBe(before);
  await note(hub, 'change-2');
  expect(await append(hub)).toMatchObject({ appended: 2 });
  expect(await aboutsOf(hub)).toEqual(['change-0', 'change-1', 'change-2']);
  expect(await readHead(hub)).not.toBe(before);
});
