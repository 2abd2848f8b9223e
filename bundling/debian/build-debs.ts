import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';
import { VERSION } from '#bundles/version';
import { artifactSbom, nodeComponent } from '../artifact-sbom.ts';
import { LICENCES } from '../licences-beside.ts';
import { SBOM } from '../sbom.ts';
import { copyrightText } from './copyright-text.ts';
import { manPage } from './man-page.ts';
import { findNode, NODE_DEPENDS, type NodeBuild } from './node-build.ts';
import { buildNodeDeb, NODE_PACKAGE } from './node-deb.ts';
import { MAINTAINER, packDeb, type PackOptions, SCRIPTS } from './pack-deb.ts';
import { PACKAGED, type Packaged } from './programs.ts';
import { putFile } from './put-file.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const DEPLOY = join(REPOSITORY, 'deploy');

export type DebsOptions = {
  /** The built programs: agent, exporter and scheduler, each a folder. */
  readonly programs: string;
  readonly out: string;
  /** The time of every file in the packages of programs, in seconds since 1970. */
  readonly epoch: number;
  readonly compression?: PackOptions['compression'];
  /** The version of package.json, unless a test builds another. */
  readonly version?: string;
  /** All three programs and fleet-node, unless a test builds fewer. */
  readonly names?: readonly string[];
  /** The official build of Node in node_modules, unless a test packs less. */
  readonly node?: NodeBuild;
  /** Reports each package before it is packed, and its size in bytes afterwards. */
  readonly onPackage?: (name: string, bytes?: number) => void;
};

/** Builds the Debian packages with dpkg-deb and returns their paths. The same input gives the same bytes. */
export const buildDebs = async (options: DebsOptions): Promise<readonly string[]> => {
  const node = options.node ?? findNode(REPOSITORY);
  const { out, compression = 'xz' } = options;
  await mkdir(out, { recursive: true });
  const builders = new Map<string, (work: string) => Promise<string>>(
    PACKAGED.map((packaged) => [
      packaged.program.name,
      (work) => buildProgramDeb(packaged, node, work, { ...options, compression }),
    ]),
  ).set(NODE_PACKAGE, (work) => buildNodeDeb(node, work, { out, compression }));
  const made: string[] = [];
  for (const [name, build] of builders) {
    if (options.names?.includes(name) === false) continue;
    const work = await mkdtemp(join(tmpdir(), 'fleet-ferry-deb-'));
    try {
      options.onPackage?.(name);
      const file = await build(work);
      options.onPackage?.(name, (await stat(file)).size);
      made.push(file);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  return made;
};

/** Debian sorts a tilde before everything: 1.0.0~rc.1 is older than 1.0.0. */
const debianVersion = (version: string): string => version.replace('-', '~').replaceAll('-', '.');

const buildProgramDeb = async (
  packaged: Packaged,
  node: NodeBuild,
  root: string,
  options: Omit<DebsOptions, 'compression'> & PackOptions,
): Promise<string> => {
  const { program, depends, recommends } = packaged;
  const { name } = program;
  const version = debianVersion(options.version ?? VERSION);
  const date = new Date(options.epoch * 1000);
  const hasNode = packaged.node === 'inside';

  const library = join(root, 'usr/lib', name);
  const built = join(options.programs, packaged.folder);
  // The list of the page's components is part of the program's, which lies in /usr/share/doc.
  const left = new Set(
    [name, LICENCES, SBOM, join('scheduler/page/dist', SBOM)].map((file) => join(built, file)),
  );
  await cp(built, library, {
    recursive: true,
    filter: (from) => !left.has(from),
  });
  await cp(hasNode ? node.program : join(DEPLOY, 'debian/shared-node'), join(library, 'node'));
  await startWithNode(join(library, `${name}.mjs`), `/usr/lib/${name}/node`);
  await mkdir(join(root, 'usr/bin'), { recursive: true });
  await symlink(`../lib/${name}/${name}.mjs`, join(root, 'usr/bin', name));

  const put = (path: string, content: string | Buffer): Promise<void> => putFile(root, path, content);
  // Copied with their modes: systemd runs no generator that is not executable.
  for (const [from, to] of Object.entries(packaged.files)) await cp(join(DEPLOY, from), join(root, to));
  for (const [shell, path] of COMPLETIONS) await put(path(name), await completionOf(packaged, shell, built));
  const files = Object.values(packaged.files).filter((path) => !path.includes('/doc/'));
  await put(`usr/share/man/man1/${name}.1.gz`, zip(await manPage(program, { version, date, files })));
  const doc = `usr/share/doc/${name}`;
  const notices = await readFile(join(built, LICENCES), 'utf8');
  await put(`${doc}/copyright`, copyrightText({ notices, node: hasNode ? node : undefined }));
  const inside = hasNode ? [nodeComponent(node.version)] : [];
  await put(`${doc}/${SBOM}.gz`, zip(await artifactSbom(name, [built], inside)));
  await put(`${doc}/changelog.gz`, zip(changelog(name, version, date)));
  const overrides = OVERRIDES.map((tag) => `${name}: ${tag}\n`);
  await put(`usr/share/lintian/overrides/${name}`, overrides.join(''));
  for (const script of SCRIPTS) {
    const text = await readFile(join(DEPLOY, 'debian', `${name}.${script}`)).catch(() => undefined);
    if (text !== undefined) await put(`DEBIAN/${script}`, text);
  }

  const fields = {
    name,
    version,
    architecture: node.architecture,
    // A version of the agent has no part in it: a trial that goes back leaves no program without its Node.
    depends: [...NODE_DEPENDS, ...(hasNode ? [] : [`${NODE_PACKAGE} (>= 24) | fleet-agent`]), ...depends],
    recommends,
    synopsis: SYNOPSIS[name] ?? name,
    description: [
      program.description,
      packaged.about,
      hasNode
        ? `Node.js ${node.version} is part of the package; fleet-export and fleet-scheduler can use it, too.`
        : `It runs with the Node.js of ${NODE_PACKAGE} or fleet-agent.`,
    ],
  };
  return packDeb(root, fields, options);
};

/** An installed program runs with the Node beside it, whatever PATH has. */
const startWithNode = async (file: string, node: string): Promise<void> => {
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

const completionOf = async (packaged: Packaged, shell: string, built: string): Promise<Buffer> => {
  const file = join(built, `${packaged.program.name}.mjs`);
  const { code, stdout, stderr } = await runProcess([process.execPath, file, 'completion', shell], {
    env: { ...process.env, NODE_OPTIONS: '' },
    maxOutput: Infinity,
  });
  if (code !== 0) throw new FleetError('IO', `${file} completion ended with ${code}: ${stderr.trim()}`);
  return stdout;
};

const zip = (text: string): Buffer => gzipSync(text, { level: 9 });

/** A synopsis has at most 80 characters and no full stop. */
const SYNOPSIS: Readonly<Record<string, string>> = {
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

/** Deliberate: the official build of Node is unchanged, it starts the program, and notices of npm packages are whole. */
const OVERRIDES: readonly string[] = [
  'embedded-library *',
  'unstripped-binary-or-object *',
  'copyright-file-contains-full-apache-2-license',
  'missing-dep-for-interpreter *',
  'wrong-path-for-interpreter *',
];
