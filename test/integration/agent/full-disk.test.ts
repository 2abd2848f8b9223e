import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../scheduler/fleet-platform.ts';

/** A git that says what it was given, and fails. */
const withGit = async (says: string) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, {
    ...fleetPlatform(),
    'bin/git': `#!/bin/sh\necho "${says}" >&2\necho "fatal: index-pack failed" >&2\nexit 128\n`,
    'platform/base/far.yaml': ours(
      'WorkloadRegistration',
      'far',
      'spec:\n  workload: {repo: "https://git.example/far", branch: main, path: .}\n',
    ),
  });
  await chmod(join(directory, 'bin/git'), 0o755);
  return validatePlatform({
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: { PATH: join(directory, 'bin') },
  });
};

test('a full disk while repositories are read is DISK_FULL, and no problem of the platform', async () => {
  await expect(withGit('error: unable to write file: No space left on device')).rejects.toMatchObject({
    code: 'DISK_FULL',
    exitCode: 6,
  });
});

test('a full disk of the Git server is a repository that cannot be read', async () => {
  const found = await withGit('remote: error: No space left on device');
  expect(found.problems.map(({ code }) => code)).toEqual(['SOURCE_UNREACHABLE']);
});
