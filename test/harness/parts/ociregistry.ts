import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const module = (machine: Machine): string => join(machine.repository, 'test/harness/ociregistry');

const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags=-s -w'];

/** Another source, another lock of dependencies or other flags: another program. */
const versionOf = (machine: Machine): string => {
  const hash = createHash('sha256').update(JSON.stringify(flags));
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(module(machine), file)));
  return hash.digest('hex').slice(0, 12);
};

const family = (machine: Machine): string => join(machine.cache, 'ociregistry');
const program = (machine: Machine): string => join(family(machine), versionOf(machine), 'ociregistry');

/** The registry with the referrers API of the distribution spec as it is written, all of it in memory. */
export const ociregistry: Part = {
  title: 'ociregistry',
  variable: 'FLEET_OCIREGISTRY',
  source: "a Go build of cuelabs' ociregistry into the cache, seconds",
  isBuilt: true,
  find: (machine) => (existsSync(program(machine)) ? program(machine) : undefined),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    await orExplain('Go could not build ociregistry', () =>
      buildVersion(family(machine), async (temporary) => {
        await runOrFail(['go', 'build', ...flags, '-o', join(temporary, 'ociregistry'), '.'], {
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
