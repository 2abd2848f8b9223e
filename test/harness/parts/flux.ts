import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { goPrograms } from './go-programs.ts';

const CONTROLLERS = ['source-controller', 'kustomize-controller', 'notification-controller'].map(
  (name) => `github.com/fluxcd/${name}`,
);

/** A folder with Flux's source-, kustomize- and notification-controller, and their definitions under crds/. */
export const flux = goPrograms({
  title: 'Flux',
  variable: 'FLEET_FLUX',
  source:
    "a Go build of Flux's three controllers into the cache, eight minutes on two cores when nothing of it was ever built",
  name: 'flux',
  packages: CONTROLLERS,
  bring: async (folder, folderOf) => {
    for (const module of CONTROLLERS)
      await copyDefinitions(join(await folderOf(module), 'config/crd/bases'), join(folder, 'crds'));
  },
});

export const copyDefinitions = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) await cp(join(from, name), join(to, name), { mode: 0 });
};
