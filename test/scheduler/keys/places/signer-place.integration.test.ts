import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

// A signer that is being restarted is waited for, so this takes two seconds.
it('a key directory with a signer socket uses it, and reports SIGNER_UNREACHABLE when nothing listens', async () => {
  await using folder = await temporaryDirectory('keys');
  await initDevRoot(folder.path, 'halden', new Date('2026-11-21T08:00:00Z'));
  await writeFile(join(folder.path, 'keys.yaml'), 'release: { signer: ./signer.sock }\n');
  const keys = await openKeyDirectory(folder.path);
  await expect(keys.key('release')).rejects.toMatchObject({
    code: 'SIGNER_UNREACHABLE',
    message: expect.stringContaining(join(folder.path, 'signer.sock')),
  });
});
