import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkCache } from '../../../../scheduler/load/sources/check-cache.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('I14: a cache that every user can write to is not built from', async () => {
  await using folder = await temporaryDirectory();
  for (const mode of [0o777, 0o1777]) {
    await chmod(folder.path, mode);
    await expect(checkCache(folder.path)).rejects.toMatchObject({ code: 'PERMISSION' });
  }
  await chmod(folder.path, 0o755);
  await checkCache(folder.path);
  await checkCache(join(folder.path, 'not-there'));
});
