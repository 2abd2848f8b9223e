import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { holdsMedium, takeMedium } from '../../../../agent/daemon/plug-in/take-medium.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { createWorld } from '../../world.ts';

const here = async (): Promise<boolean> => false;

it('reports a medium that went away as unreadable', async () => {
  await using world = await createWorld();
  expect(await takeMedium(world.agent, join(world.folder, 'gone'), here)).toEqual({ kind: 'unreadable' });
});

it('reports a failure as unreadable when the device is unplugged, and as a refusal while it is present', async () => {
  await using world = await createWorld();
  const empty = join(world.folder, 'empty');
  await mkdir(join(empty, 'fleet'), { recursive: true });
  expect(await takeMedium(world.agent, empty, async () => true)).toEqual({ kind: 'unreadable' });
  expect(await takeMedium(world.agent, empty, here)).toMatchObject({ kind: 'refused', code: 'MEDIUM_EMPTY' });
});

it('holdsMedium finds a medium by its fleet folder', async () => {
  await using folder = await temporaryDirectory('is-ours');
  expect(await holdsMedium(folder.path)).toBe(false);
  await mkdir(join(folder.path, 'fleet'));
  expect(await holdsMedium(folder.path)).toBe(true);
});
