import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FleetError } from '#bundles/errors';

/** The official build of Node that npm installed after it checked the digest in package-lock.json. */
export type NodeBuild = {
  readonly program: string;
  readonly version: string;
  readonly licence: string;
  readonly architecture: 'amd64' | 'arm64';
};

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;

/** Names the oldest C and C++ libraries that both Node and the SQLite add-on run with; libraries of Debian 12 and newer. */
export const NODE_DEPENDS: readonly string[] = ['libc6 (>= 2.34)', 'libgcc-s1', 'libstdc++6 (>= 11)'];

/** @throws FleetError TOOL_MISSING on a platform that has no such build */
export const findNode = (repository: string): NodeBuild => {
  const { arch, platform } = process;
  const folder = join(repository, 'node_modules', `node-linux-${arch}`);
  const program = join(folder, 'bin/node');
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64') || !existsSync(program))
    throw new FleetError('TOOL_MISSING', `There is no ${program} to put into a Debian package.`, {
      hint: 'Run npm ci on Linux, on a machine with amd64 or arm64',
    });
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const licence = readFileSync(join(dirname(dirname(program)), 'LICENSE'), 'utf8').trim();
  return { program, version, licence, architecture: ARCHITECTURES[arch] };
};
