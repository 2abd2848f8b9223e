import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_CONTACT } from '../../../agent/store/contact.ts';
import { readNote, writeNote } from '../../../agent/observe/note.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describe("the daemon's note", () => {
  it('is read as written; it is empty when the file is missing, truncated, or cannot be written', async () => {
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
