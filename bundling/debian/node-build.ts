import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';

/** The official build of Node that npm installed after it checked the digest in package-lock.json. */
export type NodeBuild = {
  readonly program: string;
  readonly version: string;
  readonly licence: string;
  readonly architecture: 'amd64' | 'arm64';
};

const ARCHITECTURES: Readonly<Record<string, NodeBuild['architecture']>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};
const HERE = `${process.platform}-${process.arch}`;

/** Names the oldest C and C++ libraries that both Node and the SQLite add-on run with; libraries of Debian 12 and newer. */
export const NODE_DEPENDS: readonly string[] = ['libc6 (>= 2.34)', 'libgcc-s1', 'libstdc++6 (>= 11)'];

/** The build for this machine. @throws FleetError TOOL_MISSING on a platform without one */
export const findNode = (repository: string): NodeBuild =>
  readNode(join(repository, 'node_modules', `node-${HERE}`), HERE);

/**
 * The build for `platform` (linux-arm64). npm installs only the build for this machine. Another one is downloaded, compared with the digest in
 * package-lock.json, and unpacked into `folder`.
 * @throws FleetError TOOL_MISSING on a platform without a build, IO if the download fails or has another digest
 */
export const bringNode = async (repository: string, platform: string, folder: string): Promise<NodeBuild> => {
  if (platform === HERE) return findNode(repository);
  const name = `node-${platform}`;
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { version: string; integrity: string }>>;
  };
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined || ARCHITECTURES[platform] === undefined) return readNode(folder, platform);
  await mkdir(folder, { recursive: true });
  await run(['npm', 'pack', '--silent', `--pack-destination=${folder}`, `${name}@${locked.version}`]);
  const file = join(folder, `${name}-${locked.version}.tgz`);
  const digest = createHash('sha512').update(readFileSync(file)).digest('base64');
  if (locked.integrity !== `sha512-${digest}`)
    throw new FleetError(
      'IO',
      `${name} ${locked.version} is not what package-lock.json says: sha512-${digest}.`,
    );
  const inside = ['bin/node', 'LICENSE', 'package.json'].map((path) => `package/${path}`);
  await run(['tar', '--extract', '--gzip', `--file=${file}`, `--directory=${folder}`, ...inside]);
  return readNode(join(folder, 'package'), platform);
};

const run = async (words: readonly [string, ...string[]]): Promise<void> => {
  const { code, stderr } = await runProcess(words, { env: process.env, maxOutput: 1 << 20 });
  if (code !== 0) throw new FleetError('IO', `${words[0]} ended with ${code}: ${stderr.trim()}`);
};

const readNode = (folder: string, platform: string): NodeBuild => {
  const program = join(folder, 'bin/node');
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined || !existsSync(program))
    throw new FleetError('TOOL_MISSING', `There is no ${program} to put into a Debian package.`, {
      hint: 'Build on Linux, for linux-x64 or linux-arm64',
    });
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const licence = readFileSync(join(folder, 'LICENSE'), 'utf8').trim();
  return { program, version, licence, architecture };
};
