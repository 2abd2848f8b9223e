import { afterEach, expect, test, vi } from 'vitest';
import { createTemporaryFolder } from '#bundles/temporary-folder';

afterEach(() => vi.unstubAllEnvs());

test.each(['/no/such/folder', '/dev/null'])('a TMPDIR of %s fails with a hint', async (path) => {
  vi.stubEnv('TMPDIR', path);
  await expect(createTemporaryFolder('fleet-')).rejects.toMatchObject({
    code: 'IO',
    message: `making a folder in ${path}: there is no such directory`,
    hint: 'Set TMPDIR to one that exists',
  });
});
