import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockHub } from '../../../../scheduler/hub/serve/lock-hub.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('a database has one hub at a time', async () => {
  await using folder = await temporaryDirectory();
  const db = join(folder.path, 'hub.db');
  const first = await lockHub(db);
  await expect(lockHub(db)).rejects.toThrow(
    expect.objectContaining({ code: 'BUSY', message: `another hub serves with ${db}` }),
  );
  await using other = await lockHub(join(folder.path, 'other.db'));
  await first?.[Symbol.asyncDispose]();
  await using next = await lockHub(db);
  expect([other, next]).not.toContain(undefined);
});
