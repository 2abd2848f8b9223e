import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockHub } from '../../../../scheduler/hub/serve/lock-hub.ts';
import { temporaryDirectory } from '../../../harness/temporary-directory.ts';

it('a database has one hub at a time', async () => {
  await using folder = await temporaryDirectory();
  const db = join(folder.path, 'hub.db');
  const first = lockHub(db);
  expect(() => lockHub(db)).toThrow(
    expect.objectContaining({ code: 'BUSY', message: `another hub serves with ${db}` }),
  );
  using other = lockHub(join(folder.path, 'other.db'));
  first[Symbol.dispose]();
  using next = lockHub(db);
  expect([other, next]).not.toContain(undefined);
});
