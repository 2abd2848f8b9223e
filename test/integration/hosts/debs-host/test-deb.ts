import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { HostDeb, HostInstall } from '#bundles/formats/bundle/host-package';
import { aptRepository } from '../../../../scheduler/assemble/content/debs/apt-repository.ts';
import { memoryContent } from '../../../../scheduler/assemble/content/memory-content.ts';
import { readDeb } from '../../../../scheduler/assemble/content/debs/read-deb.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import type { TestPackage } from '../../../harness/fleets/signed-medium.ts';

/** A Debian package to build. */
export type TestDeb = {
  readonly name: string;
  readonly version: string;
  readonly depends?: string;
  /** Further fields of the control file, one a line. */
  readonly control?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Paths of `files` that are conffiles. */
  readonly conffiles?: readonly string[];
  /** Symbolic links, path -> target. */
  readonly links?: Readonly<Record<string, string>>;
  /** Bodies of maintainer scripts, and the files `templates` and `triggers` as they are. */
  readonly scripts?: Readonly<
    Partial<Record<'preinst' | 'postinst' | 'prerm' | 'postrm' | 'config' | 'templates' | 'triggers', string>>
  >;
};

/** Builds a package with dpkg-deb and returns its bytes. */
export const buildDeb = async (folder: string, deb: TestDeb): Promise<Buffer> => {
  const { name, version, depends, control = '', files = {}, conffiles = [], links = {}, scripts = {} } = deb;
  const root = join(folder, `${name}-${version.replaceAll(/[^a-z0-9.]/gi, '_')}`);
  const put = async (path: string, text: string, mode = 0o644) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text, { mode });
  };
  const needs = depends === undefined ? '' : `Depends: ${depends}\n`;
  await put(
    'DEBIAN/control',
    `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: A <a@b.example>\n${needs}${control}Description: ${name}\n`,
  );
  if (conffiles.length > 0) await put('DEBIAN/conffiles', `${conffiles.join('\n')}\n`);
  for (const [script, text] of Object.entries(scripts))
    await (script === 'templates' || script === 'triggers'
      ? put(`DEBIAN/${script}`, `${text}\n`)
      : put(`DEBIAN/${script}`, `#!/bin/sh\nset -e\n${text}\n`, 0o755));
  for (const [path, text] of Object.entries(files)) await put(path.slice(1), text);
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(target, join(root, path));
  }
  await runOrFail(['dpkg-deb', '-Zgzip', '--root-owner-group', '--build', root, `${root}.deb`]);
  return readFile(`${root}.deb`);
};

/** How the packages of a release are installed. */
export type DebPolicies = Partial<Omit<HostInstall, 'packages' | 'repository'>> & {
  /** What is said of a package beside its name and version. */
  readonly packages?: Readonly<Record<string, Omit<HostDeb, 'name' | 'version'>>>;
};

/** A package of a release that installs Debian packages, as the scheduler assembles it. */
export const debsPackage = async (
  folder: string,
  id: string,
  debs: readonly TestDeb[],
  { packages = {}, ...policies }: DebPolicies = {},
): Promise<TestPackage> => {
  const built = await Promise.all(debs.map((deb) => buildDeb(folder, deb)));
  return packageOfDebs(id, built, (name) => packages[name] ?? {}, policies);
};

/** The same of finished Debian packages. @param flagsOf what is said of each beside its name and version */
export const packageOfDebs = async (
  id: string,
  debs: readonly Buffer[],
  flagsOf: (name: string) => Omit<HostDeb, 'name' | 'version'>,
  policies: Omit<DebPolicies, 'packages'> = {},
): Promise<TestPackage> => {
  const repository = `/var/lib/fleet-ferry/apt/${id}`;
  const unxz = async (input: Buffer): Promise<Buffer> =>
    execFileSync('xz', ['--decompress', '--stdout'], { input });
  const read = await Promise.all(
    debs.map(async (bytes) => {
      const content = memoryContent(bytes, id);
      const control = await readDeb(content, unxz, new AbortController().signal);
      return { bytes, content, control, at: { file: 'package.yaml', line: 1, column: 1 } };
    }),
  );
  const index = aptRepository(read, id);
  const bytesOf = new Map(read.map(({ content, bytes }) => [content.digest, bytes]));
  return {
    id,
    files: {
      [`${repository}/Packages`]: index.packages.toString('utf8'),
      [`${repository}/Release`]: index.release.toString('utf8'),
    },
    blobs: Object.fromEntries(
      index.debs.map(({ file, content }) => [
        `${repository}/${file}`,
        bytesOf.get(content.digest) ?? Buffer.alloc(0),
      ]),
    ),
    install: {
      repository,
      packages: index.debs
        .map(({ control: { package: name, version } }) => ({ name, version, ...flagsOf(name) }))
        .toSorted((a, b) => compareBytes(a.name, b.name)),
      conffiles: 'keep',
      onRemoval: 'remove',
      services: 'start',
      ...policies,
    },
  };
};
