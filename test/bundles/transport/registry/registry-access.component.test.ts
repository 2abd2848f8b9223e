import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const access = (caFile: string) => registryOptions({ plainHttp: [], caFile, env: {} });

describe('the CA certificates for registries', () => {
  it('are read from the configured file, and absent without one', async () => {
    await using folder = await temporaryDirectory();
    const file = join(folder.path, 'ca.pem');
    await writeFile(file, 'PEM');
    expect([access(file).ca, access('').ca]).toEqual(['PEM', undefined]);
  });

  it('are a configuration error when the file is missing or a folder', async () => {
    await using folder = await temporaryDirectory();
    for (const [file, message] of [
      [join(folder.path, 'nope.pem'), 'there is no such file with certificates'],
      [folder.path, 'this is a folder, not a file with certificates'],
    ] as const)
      expect(() => access(file)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message, at: { file } }),
      );
  });
});

describe('FLEET_REGISTRY_TRIES and FLEET_REGISTRY_DELAY', () => {
  const optionsOf = (env: NodeJS.ProcessEnv) => registryOptions({ plainHttp: [], env });

  it('set the tries and the first delay when they are not empty', () => {
    expect(optionsOf({ FLEET_REGISTRY_TRIES: '9', FLEET_REGISTRY_DELAY: '20' })).toMatchObject({
      tries: 9,
      firstDelay: 20,
    });
    expect(optionsOf({ FLEET_REGISTRY_TRIES: '' })).toMatchObject({
      tries: undefined,
      firstDelay: undefined,
    });
  });

  it.each(['0', '-1', '2s', '1e3'])('refuse %s', (text) => {
    expect(() => optionsOf({ FLEET_REGISTRY_TRIES: text })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});
