import { existsSync } from 'node:fs';
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { createTemporaryFolder } from '#bundles/temporary-folder';
import type { Wanted } from '../desired/read-wanted.ts';
import { hostError } from '../host-error.ts';
import { COMMAND_ENV, type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { dropInFolders, templateOf } from './unit-names.ts';

/** Where Podman's generator finds the quadlets of the system, the folder with precedence first (podman-systemd.unit(5)). */
export const QUADLET_FOLDERS: readonly string[] = [
  '/run/containers/systemd',
  '/etc/containers/systemd',
  '/usr/share/containers/systemd',
];

const KIND = /\.(?:artifact|build|container|image|kube|network|pod|volume)$/;

/** True for a file that some version of Podman's generator makes a service of. Those below `users` are for users' own services. */
export const isQuadlet = (path: string): boolean => KIND.test(path) && isBesideQuadlets(path);

/** True for every file from which the generator may read: quadlets, their drop-ins and what they refer to. */
export const isBesideQuadlets = (path: string): boolean =>
  QUADLET_FOLDERS.some((folder) => path.startsWith(`${folder}/`) && !path.startsWith(`${folder}/users/`));

/** True if the path is a drop-in that Podman reads for this quadlet, the path of one. */
export const isDropInOfQuadlet = (path: string, quadlet: string): boolean =>
  isBesideQuadlets(path) &&
  path.endsWith('.conf') &&
  dropInFolders(posix.basename(quadlet)).has(posix.basename(posix.dirname(path)));

/** The answer of Podman's generator on this host about the quadlets of a package. */
export type Quadlets = {
  /** Path of the quadlet by the name of its service: 'front.service', 'web@.service'. */
  readonly services: ReadonlyMap<string, string>;
  /** Lines of the generator about files that it refuses. */
  readonly refusals: readonly string[];
  /** 'unknown': the package has quadlets, and their services are known only once the generator of the host has run. */
  readonly answer: 'known' | 'unknown' | 'none';
};

const NO_QUADLETS: Quadlets = { services: new Map(), refusals: [], answer: 'none' };

const GENERATORS = [
  '/etc/systemd/system-generators/podman-system-generator',
  '/usr/local/lib/systemd/system-generators/podman-system-generator',
  '/usr/lib/systemd/system-generators/podman-system-generator',
  '/lib/systemd/system-generators/podman-system-generator',
];
const TIMEOUT_MS = 60_000;

/**
 * Asks Podman's generator which services it will make of the quadlets of the package, before they are on the host: a file's name alone
 * does not say (ServiceName=, kinds that this version of Podman lacks). A host without the generator is refused, because systemd would
 * never see the services, unless the package installs Podman itself.
 * @throws FleetError TOOL_MISSING, IO, DISK_FULL, PERMISSION, ABORTED
 */
export const readQuadlets = async (
  options: HostTargetOptions,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<Quadlets> => {
  const path = [...(wanted?.files.keys() ?? []), ...(wanted?.secrets.keys() ?? [])].find(isQuadlet);
  if (!wanted || path === undefined) return NO_QUADLETS;
  const unknown: Quadlets = { ...NO_QUADLETS, answer: 'unknown' };
  if (whyUnmanaged(options) !== undefined) return unknown;
  const generator = GENERATORS.find((one) => existsSync(join(options.root, one)));
  if (wanted.install?.packages.some(({ name }) => name === 'podman')) return unknown;
  if (generator === undefined)
    throw new FleetError(
      'TOOL_MISSING',
      `${path} needs Podman 4.4 or newer, whose systemd generator this host lacks`,
      {
        hint: 'Install it (Debian 13 has it, Debian 12 has Podman 4.3), or write a unit that runs podman',
      },
    );
  const folder = await createTemporaryFolder('fleet-quadlets-');
  try {
    const root = await realpath(folder);
    await writeAll(root, wanted);
    const { code, stdout, stderr } = await options.run([generator, '--dryrun'], {
      timeoutMs: TIMEOUT_MS,
      signal,
      cwd: '/',
      // Ours first: of two files of a name the generator takes the first. Quadlets may refer to those of other packages.
      env: {
        ...COMMAND_ENV,
        QUADLET_UNIT_DIRS: [...QUADLET_FOLDERS.map((one) => root + one), ...QUADLET_FOLDERS].join(':'),
      },
    });
    // It ends with 1 when it refuses one file, also one of another package.
    if (code > 1) throw new FleetError('IO', `${generator} ended with ${code}: ${stderr.trim()}`);
    const services = servicesIn(stdout, root);
    return { services, refusals: refusalsIn(stderr, wanted, root), answer: 'known' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Writes the quadlets and their drop-ins in the folders that they have below the folder of quadlets. */
const writeAll = async (root: string, { files }: Wanted): Promise<void> => {
  for (const file of files.values()) {
    const from = QUADLET_FOLDERS.find((one) => file.path.startsWith(`${one}/`));
    const isRead = isQuadlet(file.path) || (isBesideQuadlets(file.path) && file.path.endsWith('.conf'));
    if (from === undefined || !isRead || !('bytes' in file)) continue;
    const path = join(root, from, posix.relative(from, file.path));
    await mkdir(posix.dirname(path), { recursive: true })
      .then(() => writeFile(path, file.bytes, { mode: 0o600 }))
      .catch((error: unknown) => {
        throw hostError(error, `asking Podman about ${file.path}`);
      });
  }
};

const servicesIn = (stdout: string, root: string): Quadlets['services'] => {
  const services = new Map<string, string>();
  for (const [, name = '', text = ''] of stdout.matchAll(
    /^---(\S+)---\n([^]*?)(?=^---\S+---\n|$(?![^]))/gm,
  )) {
    const source = /^SourcePath=(.*)$/m.exec(text)?.[1];
    if (source?.startsWith(`${root}/`)) services.set(posix.basename(name), source.slice(root.length));
  }
  return services;
};

/** 'quadlet-generator[174]: converting "web.container": unsupported key ...': what it says about files of the package. */
const refusalsIn = (stderr: string, { files }: Wanted, root: string): Quadlets['refusals'] => {
  const names = [...files.keys()].filter(isQuadlet).map((path) => posix.basename(path));
  return stderr
    .split('\n')
    .filter(
      (line) => names.some((name) => line.includes(name)) && !/: Loading source |: Warning: /.test(line),
    )
    .map((line) => line.replace(/^\S+ /, '').replaceAll(root, ''));
};

/** The quadlet that a unit or its template is made of. */
export const quadletOf = ({ services }: Quadlets, unit: string): string | undefined =>
  services.get(unit) ?? services.get(templateOf(unit));
