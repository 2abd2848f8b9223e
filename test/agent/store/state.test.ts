import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../agent/store/migrations.ts';
import { openState } from '../../../agent/store/state.ts';
import { refusal } from '../../bundles/refusal.ts';
import { temporaryDirectory } from '../../harness/temporary-directory.ts';

describe('a state directory', () => {
  it('is made only where it is asked for, and is durable', async () => {
    await using folder = await temporaryDirectory('state');
    const path = join(folder.path, 'state');
    expect(refusal(() => openState(path))).toBe('NOT_ENROLLED');
    using state = openState(path, { create: true });
    expect(state.db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(state.db.pragma('synchronous', { simple: true })).toBe(2);
    expect(state.db.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length);
  });

  it('of a newer agent is not touched', async () => {
    await using folder = await temporaryDirectory('state');
    {
      using state = openState(folder.path, { create: true });
      state.db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    }
    expect(refusal(() => openState(folder.path))).toBe('AGENT_TOO_OLD');
  });

  it('that is damaged is said to be', async () => {
    await using folder = await temporaryDirectory('state');
    await writeFile(join(folder.path, 'state.db'), 'x'.repeat(8192));
    expect(refusal(() => openState(folder.path))).toBe('STORE_CORRUPT');
  });
});
