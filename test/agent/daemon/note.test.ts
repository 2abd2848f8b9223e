import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_CONTACT } from '../../../agent/daemon/contact.ts';
import { readNote, writeNote } from '../../../agent/daemon/note.ts';
import { patience } from '../../../agent/daemon/patience.ts';
import { temporaryDirectory } from '../../harness/temporary-directory.ts';

describe("the daemon's note", () => {
  it('is read back, and empty where there is none, half of one, or no disk to write it to', async () => {
    await using folder = await temporaryDirectory('note');
    const empty = { registry: NO_CONTACT, hub: NO_CONTACT };
    expect(readNote(folder.path)).toEqual(empty);
    const note = { ...empty, hub: { ...NO_CONTACT, good: '2026-11-21T08:00:00Z' } };
    writeNote(folder.path, note);
    expect(readNote(folder.path)).toEqual(note);
    writeFileSync(join(folder.path, 'daemon.json'), '{"hub":');
    expect(readNote(folder.path)).toEqual(empty);
    writeNote(join(folder.path, 'nowhere'), note);
  });
});

describe('patience', () => {
  it('grows with every failure up to ten minutes, and is spread by a fifth', () => {
    const waits = [1, 2, 3, 4, 5, 6, 99].map((failures) => patience(60_000, failures, () => 0.5) / 60_000);
    expect(waits).toEqual([1, 2, 4, 8, 10, 10, 10]);
    expect([0, 1].map((random) => patience(60_000, 1, () => random))).toEqual([48_000, 72_000]);
    expect(patience(3_600_000, 9, () => 0.5)).toBe(3_600_000);
  });
});
