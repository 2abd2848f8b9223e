import { createHash } from 'node:crypto';
import { chmod, lutimes, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';
import { putFile } from './put-file.ts';

/** Of the maintainer, as dpkg runs them. */
export const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'] as const;

export const MAINTAINER = 'Fleet Ferry maintainers <maintainers@fleet-ferry.example>';

export type DebFields = {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly depends: readonly string[];
  readonly recommends?: readonly string[];
  /** At most 80 characters and no full stop. */
  readonly synopsis: string;
  /** One paragraph, a line each. */
  readonly description: readonly string[];
};

export type PackOptions = {
  /** The folder for the package. */
  readonly out: string;
  /** The time of every file in the package, in seconds since 1970. */
  readonly epoch: number;
  readonly compression: 'xz' | 'none';
};

/**
 * Packs `root`, the files of a package as they will lie on the machine and the maintainer's scripts in its DEBIAN folder, with
 * dpkg-deb. Files below etc are configuration files. @returns the path of the package @throws FleetError IO if dpkg-deb fails
 */
export const packDeb = async (root: string, fields: DebFields, options: PackOptions): Promise<string> => {
  const content = (await filesBelow(root)).filter((path) => !path.startsWith(join(root, 'DEBIAN/')));
  const conffiles = content.map((path) => relative(root, path)).filter((path) => path.startsWith('etc/'));
  await putFile(root, 'DEBIAN/control', control(fields, await installedKib(content)));
  await putFile(root, 'DEBIAN/md5sums', await md5sums(root, content));
  if (conffiles.length > 0)
    await putFile(root, 'DEBIAN/conffiles', conffiles.map((path) => `/${path}\n`).join(''));
  await settleModes(root, options.epoch);
  const file = join(options.out, `${fields.name}_${fields.version}_${fields.architecture}.deb`);
  const words = [`-Z${options.compression}`, '--root-owner-group', '--build', root, file];
  const { code, stderr } = await runProcess(['dpkg-deb', ...words], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(options.epoch) },
    maxOutput: 1 << 20,
  });
  if (code !== 0) throw new FleetError('IO', `dpkg-deb ended with ${code}: ${stderr.trim()}`);
  return file;
};

const control = (fields: DebFields, kib: number): string => {
  const list = (name: string, values: readonly string[] = []): readonly string[] =>
    values.length > 0 ? [`${name}: ${values.join(', ')}`] : [];
  return [
    `Package: ${fields.name}`,
    `Version: ${fields.version}`,
    `Architecture: ${fields.architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kib}`,
    ...list('Depends', fields.depends),
    ...list('Recommends', fields.recommends),
    'Section: admin',
    'Priority: optional',
    `Description: ${fields.synopsis}`,
    ...fields.description.map((line) => ` ${line}`),
    '',
  ].join('\n');
};

/** Files and links, sorted. */
const filesBelow = async (root: string): Promise<readonly string[]> => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
};

const installedKib = async (files: readonly string[]): Promise<number> => {
  const sizes = await Promise.all(files.map(async (file) => (await readFile(file)).length));
  return sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / 1024), 0);
};

/** `dpkg --verify` compares files with these. */
const md5sums = async (root: string, files: readonly string[]): Promise<string> => {
  const lines = await Promise.all(
    files
      .filter((file) => !file.startsWith(join(root, 'etc/')) && !file.startsWith(join(root, 'usr/bin/')))
      .map(async (file) => {
        const sum = createHash('md5')
          .update(await readFile(file))
          .digest('hex');
        return `${sum}  ${relative(root, file)}\n`;
      }),
  );
  return lines.join('');
};

/** Modes and times of the packages do not depend on the umask or the clock of the machine that builds them. */
const settleModes = async (root: string, epoch: number): Promise<void> => {
  const scripts = new Set(SCRIPTS.map((script) => join(root, 'DEBIAN', script)));
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  // Deepest first: a change inside a folder would change its time.
  for (const entry of entries.toSorted((a, b) => b.parentPath.length - a.parentPath.length)) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) {
      // A file that its owner may execute is executable for everybody: programs, and scripts that `init` copies.
      const isExecutable = scripts.has(path) || ((await stat(path)).mode & 0o100) !== 0;
      await chmod(path, isExecutable ? 0o755 : 0o644);
    }
    await lutimes(path, epoch, epoch);
  }
  await chmod(root, 0o755);
  await lutimes(root, epoch, epoch);
};
