import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { confirmUpgrade } from '../../../agent/store/upgrade-trial.ts';
import { temporaryDirectory } from '../../harness/temporary-directory.ts';

it('confirms a version that is on trial', async () => {
  await using folder = await temporaryDirectory('upgrade');
  mkdirSync(join(folder.path, 'upgrade'));
  writeFileSync(join(folder.path, 'upgrade/trial'), '1.0.0\n');
  confirmUpgrade(folder.path);
  expect(existsSync(join(folder.path, 'upgrade/healthy'))).toBe(true);
});

it('writes nothing where no version is on trial', async () => {
  await using folder = await temporaryDirectory('upgrade');
  confirmUpgrade(folder.path);
  mkdirSync(join(folder.path, 'upgrade'));
  confirmUpgrade(folder.path);
  expect(existsSync(join(folder.path, 'upgrade/healthy'))).toBe(false);
});
