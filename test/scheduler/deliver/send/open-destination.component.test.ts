import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { looksLikeRegistry } from '../../../../scheduler/deliver/send/looks-like-registry.ts';
import { openDestination } from '../../../../scheduler/deliver/send/open-destination.ts';
import { NOW } from '../../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const open = (where: string) => openDestination(where, { plainHttp: [], env: {} }, NOW);

describe('where to publish to', () => {
  it('is not a folder where a registry was meant and its scheme forgotten', async () => {
    const where = 'registry.invalid:5000/fleet';
    await expect(open(where)).rejects.toMatchObject({
      code: 'USAGE',
      message: `"${where}" looks like a registry, but does not begin with oci://`,
      hint: `Write oci://${where}, or ./${where} for a folder of this name`,
    });
    expect(await readdir('.')).not.toContain('registry.invalid:5000');
  });

  it('is a folder by its path', async () => {
    await using folder = await temporaryDirectory();
    await using destination = await open(folder.path);
    expect(destination.name).toBe(folder.path);
  });

  it.each(['127.0.0.1:5000/fleet', 'registry.example/factory/fleet', 'localhost:5000', 'edge:5000/fleet'])(
    'looks like a registry: %s',
    (where) => {
      expect(looksLikeRegistry(where)).toBe(true);
    },
  );

  it.each([
    'mirror',
    'mirror.d',
    'out/prod',
    './edge:5000/fleet',
    '../registry.example/x',
    '/srv/a.b/c',
    '.fleet/x',
  ])('looks like a folder: %s', (where) => {
    expect(looksLikeRegistry(where)).toBe(false);
  });
});
