import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetError, formatError } from '#bundles/errors';
import { hubOf } from '../../../exporter/commands/hub-flags.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

test('--hub needs an https URL and a token file, and refuses anything else before something is written', async () => {
  await using folder = await temporaryDirectory('hub-flags');
  const file = join(folder.path, 'token');
  await writeFile(file, 'ffd_secret\n');
  const hub = 'https://hub.example:8443/';
  expect(await hubOf({})).toBeUndefined();
  expect(await hubOf({ hub, 'hub-token-file': file })).toEqual({
    url: 'https://hub.example:8443',
    token: 'ffd_secret',
  });
  for (const [flags, code] of [
    [{ hub: 'http://hub.example', 'hub-token-file': file }, 'USAGE'],
    [{ hub: 'hub.example:8443', 'hub-token-file': file }, 'USAGE'],
    [{ hub }, 'USAGE'],
    [{ hub, 'hub-token-file': join(folder.path, 'none') }, 'CONFIG_INVALID'],
  ] as const)
    await expect(hubOf(flags)).rejects.toMatchObject({ code });
});

test('a token file with more than a token is refused without any of its text in the message', async () => {
  await using folder = await temporaryDirectory('hub-flags');
  const file = join(folder.path, 'token');
  for (const text of ['ffd_secret\n{"level":"info"}\n', 'Token: ffd_secret\n', '\n']) {
    await writeFile(file, text);
    const error: unknown = await hubOf({ hub: 'https://hub.example', 'hub-token-file': file }).catch(
      (refused: unknown) => refused,
    );
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(formatError(error as FleetError)).not.toContain('secret');
  }
});
