import { join } from 'node:path';
import { formatError } from '../../../../bundles/errors.ts';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import type { Platform } from '../../../../scheduler/model/model.ts';
import { problemsOf } from '../../../../scheduler/model/problems.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform } from '../../fleet-platform.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../../kalypso-platform.ts';

type Files = Readonly<Record<string, string>>;

/** The platform of fleet-platform.ts with more files. Its problems are one error with a line for each. */
export const loadFleetWith = async (more: Files, environment = 'prod'): Promise<Platform> => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), ...more });
  return loadPlatform({
    platform: join(directory, 'platform'),
    environment,
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  }).catch((error: unknown) => {
    throw new Error(
      problemsOf(error)
        .map((problem) => formatError(problem).replaceAll(`${directory}/`, ''))
        .join('\n'),
    );
  });
};

const below = (folder: string, tree: Files): Files =>
  Object.fromEntries(Object.entries(tree).map(([path, text]) => [`${folder}/${path}`, text]));

/** Environment dev of the control plane of kalypso-platform.ts with more files on its branch. */
export const loadKalypsoWith = async (more: Files): Promise<Platform> => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, {
    ...below('main', kalypsoMain()),
    ...below('dev', { ...kalypsoDev(CONTROL_PLANE, 'c'.repeat(40)), ...more }),
    ...below('shop', shopRepository()),
  });
  return loadPlatform({
    platform: join(directory, 'main'),
    environment: 'dev',
    fleet: 'halden',
    maps: [
      { repo: CONTROL_PLANE, ref: 'main', directory: join(directory, 'main/') },
      { repo: CONTROL_PLANE, ref: 'dev', directory: join(directory, 'dev/') },
      { repo: SHOP, directory: join(directory, 'shop/') },
    ],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  });
};
