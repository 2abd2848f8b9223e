import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const module = (machine: Machine): string => join(machine.repository, 'test/harness/flux');

const CONTROLLERS = ['source-controller', 'kustomize-controller', 'notification-controller'];

const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags=-s -w'];

/** Another lock of dependencies or other flags: other programs. */
const versionOf = (machine: Machine): string => {
  const hash = createHash('sha256').update(JSON.stringify(flags));
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(module(machine), file)));
  return hash.digest('hex').slice(0, 12);
};

const family = (machine: Machine): string => join(machine.cache, 'flux');
const folder = (machine: Machine): string => join(family(machine), versionOf(machine));

/** A folder with Flux's source-, kustomize- and notification-controller, and their definitions under crds/. */
export const flux: Part = {
  title: 'Flux',
  variable: 'FLEET_FLUX',
  source:
    "a Go build of Flux's three controllers into the cache, eight minutes on two cores when nothing of it was ever built",
  isBuilt: true,
  find: (machine) => (existsSync(folder(machine)) ? folder(machine) : undefined),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    await orExplain("Go could not build Flux's controllers", () =>
      buildVersion(family(machine), async (temporary) => {
        const options = {
          cwd: module(machine),
          env: { ...machine.env, CGO_ENABLED: '0' },
          signal: machine.signal,
        };
        for (const name of CONTROLLERS) {
          const path = `github.com/fluxcd/${name}`;
          await runOrFail(['go', 'build', ...flags, '-o', join(temporary, name), path], options);
          const { stdout } = await runOrFail(['go', 'list', '-m', '-f', '{{.Dir}}', path], options);
          await copyDefinitions(join(stdout.trim(), 'config/crd/bases'), join(temporary, 'crds'));
        }
        return versionOf(machine);
      }),
    );
    return folder(machine);
  },
};

const copyDefinitions = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) await cp(join(from, name), join(to, name), { mode: 0 });
};
