import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { goInstall } from './go-install.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export type GoProgram = Pick<Part, 'title' | 'variable'> & {
  /** The name of the program, and of its folder in the cache unless `folder` is given. */
  readonly name: string;
  /** Where another part is a version of the same program. */
  readonly folder?: string;
  readonly path: string;
  readonly version: string;
  /** Arguments that make it say its version: proof that it runs here. */
  readonly proof: readonly string[];
};

/** A program of one file, built from its Go module at one version and kept in the cache. */
export const goProgram = ({
  title,
  variable,
  name,
  folder = name,
  path,
  version,
  proof,
}: GoProgram): Part => {
  const family = (machine: Machine): string => join(machine.cache, folder);
  const program = (machine: Machine): string => join(family(machine), `go-${version}`, 'bin', name);
  return {
    title,
    variable,
    source: `a Go build of ${path} ${version} into the cache, a minute on two cores when nothing of it was ever built`,
    isBuilt: true,
    find: (machine) => (existsSync(program(machine)) ? program(machine) : undefined),
    install: async (machine) => {
      await mkdir(family(machine), { recursive: true });
      await orExplain(`Go could not build ${path}@${version}`, () =>
        buildVersion(family(machine), async (temporary) => {
          await goInstall(`${path}@${version}`, temporary, machine);
          await runOrFail([join(temporary, 'bin', name), ...proof]);
          return `go-${version}`;
        }),
      );
      return program(machine);
    },
  };
};
