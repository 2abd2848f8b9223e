import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const FLAGS = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags=-s -w'];

export type GoPrograms = Pick<Part, 'title' | 'variable' | 'source'> & {
  /** Of the folder in test/harness whose go.mod locks them, and of the folder in the cache. */
  readonly name: string;
  /** The packages to be built; each becomes a program by its last word. */
  readonly packages: readonly string[];
  /** Copies what comes beside the programs. @param folderOf of the sources of a module of the lock */
  readonly bring: (folder: string, folderOf: (module: string) => Promise<string>) => Promise<void>;
};

/** A folder with somebody's programs, built from a lock of modules. Another lock or other flags: other programs. */
export const goPrograms = ({ title, variable, source, name, packages, bring }: GoPrograms): Part => {
  const module = (machine: Machine): string => join(machine.repository, 'test/harness', name);
  const versionOf = (machine: Machine): string => {
    const hash = createHash('sha256').update(JSON.stringify(FLAGS));
    for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(module(machine), file)));
    return hash.digest('hex').slice(0, 12);
  };
  const family = (machine: Machine): string => join(machine.cache, name);
  const folder = (machine: Machine): string => join(family(machine), versionOf(machine));
  return {
    title,
    variable,
    source,
    version: (machine) => lockedVersions(readFileSync(join(module(machine), 'go.mod'), 'utf8'), packages),
    isBuilt: true,
    find: (machine) => (existsSync(folder(machine)) ? folder(machine) : undefined),
    install: async (machine) => {
      await mkdir(family(machine), { recursive: true });
      await orExplain(`Go could not build ${title}`, () =>
        buildVersion(family(machine), async (temporary) => {
          const options = {
            cwd: module(machine),
            env: { ...machine.env, CGO_ENABLED: '0' },
            signal: machine.signal,
          };
          for (const path of packages)
            await runOrFail(['go', 'build', ...FLAGS, '-o', join(temporary, basename(path)), path], options);
          await bring(temporary, async (path) =>
            (await runOrFail(['go', 'list', '-m', '-f', '{{.Dir}}', path], options)).stdout.trim(),
          );
          return versionOf(machine);
        }),
      );
      return folder(machine);
    },
  };
};

/** Versions of the modules of some packages in a lock: '0.15.0', or of several 'a 1.9.5, b 1.9.0'. */
export const lockedVersions = (lock: string, packages: readonly string[]): string => {
  const required = [...lock.matchAll(/^\s*(?:require )?(\S+) v(\d\S*)/gm)].map(
    ([, path = '', version = '']) => ({
      path,
      version,
    }),
  );
  const modules = packages.map((name) =>
    required
      .filter(({ path }) => name === path || name.startsWith(`${path}/`))
      .toSorted((a, b) => b.path.length - a.path.length)
      .at(0),
  );
  const found = [...new Set(modules)].filter((one) => one !== undefined);
  if (found.length === 1) return found[0]?.version ?? '';
  return found.map(({ path, version }) => `${basename(path)} ${version}`).join(', ');
};
