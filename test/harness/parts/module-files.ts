import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buildVersion } from './cache-folder.ts';
import { goModule } from './go-module.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export type ModuleFile = Pick<Part, 'title' | 'variable'> & {
  /** Of its folder in the cache. */
  readonly name: string;
  /** 'path@version' of a Go module. */
  readonly module: string;
  /** The file or folder inside of it. */
  readonly path: string;
};

/** A file or folder of somebody's Go module: definitions or schemas that ours are compared with. */
export const moduleFile = ({ title, variable, name, module, path }: ModuleFile): Part => {
  const version = module.slice(module.lastIndexOf('@') + 1);
  const family = (machine: Machine): string => join(machine.cache, name);
  const file = (machine: Machine): string => join(family(machine), version, basename(path));
  return {
    title,
    variable,
    source: `${basename(path)} of the Go module ${module}`,
    find: (machine) => (existsSync(file(machine)) ? file(machine) : undefined),
    install: async (machine) => {
      await mkdir(family(machine), { recursive: true });
      await orExplain(`the Go module ${module} could not be had`, () =>
        buildVersion(family(machine), async (temporary) => {
          await cp(join(await goModule(module, machine), path), join(temporary, basename(path)), {
            recursive: true,
          });
          return version;
        }),
      );
      return file(machine);
    },
  };
};
