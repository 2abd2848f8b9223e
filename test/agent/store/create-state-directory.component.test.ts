import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createStateDirectory } from '../../../agent/store/create-state-directory.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('a state directory', () => {
  it('is created with its parents, for its user alone, and kept when it exists', async () => {
    await using folder = await temporaryDirectory('state');
    const path = join(folder.path, 'plant/agent');
    createStateDirectory(path);
    createStateDirectory(path);
    expect([await modeOf(path), await modeOf(join(folder.path, 'plant'))]).toEqual([0o700, 0o700]);
  });

  it('below a file is refused with its path', async () => {
    await using folder = await temporaryDirectory('state');
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    expect(() => createStateDirectory(join(file, 'agent/state'))).toThrow(
      `${join(file, 'agent/state')} cannot be a folder: a file is in the way`,
    );
  });
});
