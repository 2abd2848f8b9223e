import { createHash } from 'node:crypto';
import {
  chmod,
  cp,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';
import { VERSION } from '#bundles/version';
import { artifactSbom, nodeComponent } from '../artifact-sbom.ts';
import { LICENCES } from '../licences-beside.ts';
import { SBOM } from '../sbom.ts';
import { manPage } from './man-page.ts';
import { findNode, NODE_DEPENDS, type NodeInside } from './node-inside.ts';
import { PACKAGED, type Packaged } from './programs.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const DEPLOY = join(REPOSITORY, 'deploy');
const MAINTAINER = 'Fleet Ferry maintainers <maintainers@fleet-ferry.example>';

/** Of the maintainer, as dpkg runs them. */
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'];

export type DebsOptions = {
  /** The built programs: agent, exporter and scheduler, each a folder. */
  readonly programs: string;
  readonly out: string;
  /** The time of every file in the packages, in seconds since 1970. */
  readonly epoch: number;
  readonly compression?: 'xz' | 'none';
  /** The version of package.json, unless a test builds another. */
  readonly version?: string;
  /** All three, unless a test builds fewer. */
  readonly names?: readonly string[];
  /** The official build of Node in node_modules, unless a test packs less. */
  readonly node?: NodeInside;
  /** Reports each package before it is packed, and its size in bytes afterwards. */
  readonly onPackage?: (name: string, bytes?: number) => void;
};

/** Builds the Debian packages with dpkg-deb and returns their paths. The same input gives the same bytes. */
export const buildDebs = async (options: DebsOptions): Promise<readonly string[]> => {
  const node = options.node ?? findNode(REPOSITORY);
  await mkdir(options.out, { recursive: true });
  const made: string[] = [];
  for (const packaged of PACKAGED) {
    if (options.names?.includes(packaged.program.name) === false) continue;
    const work = await mkdtemp(join(tmpdir(), 'fleet-ferry-deb-'));
    try {
      options.onPackage?.(packaged.program.name);
      const file = await buildDeb(packaged, node, work, options);
      options.onPackage?.(packaged.program.name, (await stat(file)).size);
      made.push(file);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  return made;
};

/** Debian sorts a tilde before everything: 1.0.0~rc.1 is older than 1.0.0. */
const debianVersion = (version: string): string => version.replace('-', '~').replaceAll('-', '.');

const buildDeb = async (
  packaged: Packaged,
  node: NodeInside,
  root: string,
  options: DebsOptions,
): Promise<string> => {
  const { name } = packaged.program;
  const version = debianVersion(options.version ?? VERSION);
  const date = new Date(options.epoch * 1000);
  const conffiles = Object.values(packaged.files).filter((path) => path.startsWith('etc/'));

  const library = join(root, 'usr/lib', name);
  const built = join(options.programs, packaged.folder);
  await cp(built, library, {
    recursive: true,
    filter: (from) => ![name, LICENCES, SBOM].some((file) => from === join(built, file)),
  });
  await cp(node.program, join(library, 'node'));
  await startWithNodeInside(join(library, `${name}.mjs`), `/usr/lib/${name}/node`);
  await mkdir(join(root, 'usr/bin'), { recursive: true });
  await symlink(`../lib/${name}/${name}.mjs`, join(root, 'usr/bin', name));

  const put = async (path: string, content: string | Buffer): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const [from, to] of Object.entries(packaged.files)) await put(to, await readFile(join(DEPLOY, from)));
  for (const [shell, path] of COMPLETIONS) await put(path(name), await completionOf(packaged, shell, built));
  const files = Object.values(packaged.files).filter((path) => !path.includes('/doc/'));
  await put(
    `usr/share/man/man1/${name}.1.gz`,
    zip(await manPage(packaged.program, { version, date, files })),
  );
  const doc = `usr/share/doc/${name}`;
  await put(`${doc}/copyright`, copyright(await readFile(join(built, LICENCES), 'utf8'), node));
  await put(`${doc}/${SBOM}`, await artifactSbom(name, [built], [nodeComponent(node.version)]));
  await put(`${doc}/changelog.gz`, zip(changelog(name, version, date)));
  await put(
    `usr/share/lintian/overrides/${name}`,
    `${OVERRIDES.map((tag) => `${name}: ${tag}`).join('\n')}\n`,
  );

  const content = await filesBelow(root);
  await put('DEBIAN/control', control(packaged, { version, node, kib: await installedKib(content) }));
  await put('DEBIAN/md5sums', await md5sums(root, content));
  if (conffiles.length > 0) await put('DEBIAN/conffiles', conffiles.map((path) => `/${path}\n`).join(''));
  for (const script of SCRIPTS) {
    const text = await readFile(join(DEPLOY, 'debian', `${name}.${script}`)).catch(() => undefined);
    if (text !== undefined) await put(`DEBIAN/${script}`, text);
  }
  await settleModes(root, options.epoch);

  const file = join(options.out, `${name}_${version}_${node.architecture}.deb`);
  const words = [`-Z${options.compression ?? 'xz'}`, '--root-owner-group', '--build', root, file];
  await run(['dpkg-deb', ...words], { ...process.env, SOURCE_DATE_EPOCH: String(options.epoch) });
  return file;
};

/** An installed program runs with its own Node, whatever PATH has. */
const startWithNodeInside = async (file: string, node: string): Promise<void> => {
  const text = await readFile(file, 'utf8');
  const started = text
    .replace(/^#!\/usr\/bin\/env node$/m, `#!${node}`)
    .replace('exec node ', `exec ${node} `);
  if (started === text) throw new FleetError('IO', `${file} does not say which Node starts it.`);
  await writeFile(file, started);
};

const COMPLETIONS: readonly (readonly [shell: string, path: (name: string) => string])[] = [
  ['bash', (name) => `usr/share/bash-completion/completions/${name}`],
  ['zsh', (name) => `usr/share/zsh/vendor-completions/_${name}`],
  ['fish', (name) => `usr/share/fish/vendor_completions.d/${name}.fish`],
];

const completionOf = (packaged: Packaged, shell: string, built: string): Promise<Buffer> =>
  run([process.execPath, join(built, `${packaged.program.name}.mjs`), 'completion', shell], {
    ...process.env,
    NODE_OPTIONS: '',
  });

const run = async (argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Buffer> => {
  const { code, stdout, stderr } = await runProcess(argv, { env, maxOutput: Infinity, maxErrors: Infinity });
  if (code !== 0)
    throw new FleetError('IO', `${argv.slice(0, 2).join(' ')} ended with ${code}: ${stderr.trim()}`);
  return stdout;
};

const zip = (text: string): Buffer => gzipSync(text, { level: 9 });

type Facts = { readonly version: string; readonly node: NodeInside; readonly kib: number };

const control = ({ program, depends, recommends, about }: Packaged, { version, node, kib }: Facts): string =>
  [
    `Package: ${program.name}`,
    `Version: ${version}`,
    `Architecture: ${node.architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kib}`,
    `Depends: ${[...NODE_DEPENDS, ...depends].join(', ')}`,
    ...(recommends.length > 0 ? [`Recommends: ${recommends.join(', ')}`] : []),
    'Section: admin',
    'Priority: optional',
    `Description: ${SHORT[program.name] ?? program.name}`,
    ` ${program.description}`,
    ` ${about}`,
    ` Node.js ${node.version} is part of the package and is used by this program only.`,
    '',
  ].join('\n');

/** The synopsis of a package has at most 80 characters and no full stop. */
const SHORT: Readonly<Record<string, string>> = {
  'fleet-agent': 'apply signed releases to this host or cluster',
  'fleet-export': 'write signed releases to removable media and registries',
  'fleet-scheduler': 'build and sign releases for a fleet, and run its hub',
};

const changelog = (
  name: string,
  version: string,
  date: Date,
): string => `${name} (${version}) stable; urgency=medium

  * Release ${version}. The changes are in CHANGELOG.md of the sources.

 -- ${MAINTAINER}  ${date.toUTCString().replace('GMT', '+0000')}
`;

const copyright = (notices: string, node: NodeInside): string => `Fleet Ferry
Copyright: the Fleet Ferry authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

This package contains, below /usr/lib:

SQLite, in better_sqlite3.node
License: public domain

The npm packages of which its modules are part

${notices}
Node.js ${node.version}, the official build, unchanged

${node.licence}
`;

/** Deliberate: the official build of Node is unchanged, it starts the program, and notices of npm packages are whole. */
const OVERRIDES: readonly string[] = [
  'embedded-library *',
  'unstripped-binary-or-object *',
  'copyright-file-contains-full-apache-2-license',
  'missing-dep-for-interpreter *',
  'wrong-path-for-interpreter *',
];

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
