import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../agent/config/config.ts';
import { examineFolders } from '../../../agent/observe/examine-folders.ts';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { createWorld, onePackage } from '../world.ts';

const asRoot = rootAccess() === 'root';

describe.skipIf(!asRoot)(
  `a read-only file system below the root${asRoot ? '' : `${SKIPPED}needs root)`}`,
  () => {
    it('is reported by the doctor for folders in which packages have or would first create files', async () => {
      await using world = await createWorld();
      const root = join(world.folder, 'root');
      const config = { root, targets: ['host'] } as unknown as Config;
      const look = () => examineFolders({ state: world.agent.state, config });
      await mkdir(join(root, 'opt'), { recursive: true });
      await mkdir(join(root, 'etc'));
      await world.release(1, [onePackage('app', 'one')]);
      expect(await look()).toMatchObject([{ name: 'folders', verdict: 'good' }]);
      for (const folder of ['opt', 'etc']) {
        const path = join(root, folder);
        await runOrFail(['mount', '-t', 'tmpfs', '-o', 'size=64k,ro', 'tmpfs', path]);
        try {
          const message = expect.stringContaining(`${path}: the file system is read-only`) as string;
          expect(await look()).toMatchObject([{ verdict: 'bad', message }]);
        } finally {
          await runOrFail(['umount', path]);
        }
      }
    });
  },
);
