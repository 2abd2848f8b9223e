import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const FLAGS = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags=-s -w'];

export type OwnGoProgram = Pick<Part, 'variable' | 'source'> & {
  /** Of the program, its folder in test/harness, and its folder in the cache. */
  readonly name: string;
};

/** A few lines of Go of our own around a library. Another source, another lock of dependencies or other flags: another program. */
export const ownGoProgram = ({ name, variable, source }: OwnGoProgram): Part => {
  const module = (machine: Machine): string => join(machine.repository, 'test/harness', name);
  const family = (machine: Machine): string => join(machine.cache, name);
  const versionOf = (machine: Machine): string => {
    const hash = createHash('sha256').update(JSON.stringify(FLAGS));
    for (const file of ['go.mod', 'go.sum', 'main.go'])
      hash.update(readFileSync(join(module(machine), file)));
    return hash.digest('hex').slice(0, 12);
  };
  const program = (machine: Machine): string => join(family(machine), versionOf(machine), name);
  return {
    title: name,
    variable,
    source,
    isBuilt: true,
    find: (machine) => (existsSync(program(machine)) ? program(machine) : undefined),
    install: async (machine) => {
      await mkdir(family(machine), { recursive: true });
      await orExplain(`Go could not build ${name}`, () =>
        buildVersion(family(machine), async (temporary) => {
          await runOrFail(['go', 'build', ...FLAGS, '-o', join(temporary, name), '.'], {
            cwd: module(machine),
            env: { ...machine.env, CGO_ENABLED: '0' },
            signal: machine.signal,
          });
          return versionOf(machine);
        }),
      );
      return program(machine);
    },
  };
};
