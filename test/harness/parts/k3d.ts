import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { goModule } from './go-module.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const MODULE = 'github.com/k3d-io/k3d/v5';
const VERSION = 'v5.8.1';

const family = (machine: Machine): string => join(machine.cache, 'k3d');
const built = (machine: Machine): string => join(family(machine), VERSION, 'k3d');

/** Kubernetes in containers, where a container engine answers. */
export const k3d: Part = {
  title: 'k3d',
  variable: 'FLEET_K3D',
  source: 'a container engine that answers, then a Go build of k3d into the cache',
  find: (machine) => {
    const program = existsSync(built(machine)) ? built(machine) : findProgram('k3d', machine.env);
    return program !== undefined && whyNoEngine(machine.env) === undefined ? program : undefined;
  },
  install: async (machine) => {
    const reason = whyNoEngine(machine.env);
    if (reason !== undefined) throw new FleetError('TOOL_MISSING', reason);
    await mkdir(family(machine), { recursive: true });
    await orExplain(`Go could not build k3d ${VERSION}`, () =>
      buildVersion(family(machine), async (temporary) => {
        await build(join(temporary, 'k3d'), machine);
        return VERSION;
      }),
    );
    return built(machine);
  },
};

/** In its own folder, as `go install` asks for a list of versions that not every proxy has; its workspace is not complete. */
const build = async (target: string, machine: Machine): Promise<void> => {
  const flags = [
    '-mod=readonly',
    '-buildvcs=false',
    '-trimpath',
    '-ldflags',
    `-s -w -X ${MODULE}/version.Version=${VERSION}`,
  ];
  await runOrFail(['go', 'build', ...flags, '-o', target, '.'], {
    cwd: await goModule(`${MODULE}@${VERSION}`, machine),
    env: { ...machine.env, GOWORK: 'off', CGO_ENABLED: '0' },
    signal: machine.signal,
  });
  await runOrFail([target, 'version']);
};

const ENGINE_MS = 5000;

/** A client alone is not an engine: it is the server's version that is asked for. */
const whyNoEngine = (env: NodeJS.ProcessEnv): string | undefined => {
  if (findProgram('docker', env) === undefined)
    return 'There is no container engine here: no docker in PATH.';
  const words = ['version', '--format', '{{.Server.Version}}'];
  const { status, stderr } = spawnSync('docker', words, { encoding: 'utf8', env, timeout: ENGINE_MS });
  if (status === 0) return undefined;
  return `No container engine answers: ${stderr?.trim().split('\n')[0] ?? 'docker took too long.'}`;
};
