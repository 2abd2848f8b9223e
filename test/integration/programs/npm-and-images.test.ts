import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '#bundles/version';
import { buildNpm } from '../../../bundling/npm/build-npm.ts';
import { buildImages, imageName } from '../../../bundling/release/build-images.ts';
import { pushImages } from '../../../bundling/release/push-images.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { importAgentBase } from '../../harness/hosts/agent-base-image.ts';
import { asRoot } from '../../harness/hosts/as-root.ts';
import { copyBuiltPrograms } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { openPodman } from '../../harness/hosts/podman.ts';
import { runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PROGRAMS = ['fleet-agent', 'fleet-export', 'fleet-scheduler'] as const;
/** They differ in the program alone. The image of the agent runs in a cluster, too (e2e/agent-in-cluster). */
const IMAGES = LONG ? PROGRAMS : (['fleet-scheduler'] as const);
/** 2026-11-24. */
const EPOCH = 1_795_478_400;

let folder: TemporaryDirectory;
/** What `npm run build` and `npm run bundle:agent` leave: a folder with `dist`. */
let context: string;

beforeAll(async () => {
  folder = await temporaryDirectory('npm');
  context = join(folder.path, 'context');
  await mkdir(join(context, 'dist'), { recursive: true });
  await copyBuiltPrograms(join(context, 'dist'));
});
afterAll(() => folder?.[Symbol.asyncDispose]());

it('the npm package installs without network and scripts, and its three programs start', async () => {
  const file = await buildNpm({ programs: join(context, 'dist'), out: join(folder.path, 'packed') });
  expect(file).toMatch(new RegExp(`/fleet-ferry-${VERSION}\\.tgz$`));
  const prefix = join(folder.path, 'prefix');
  const env = {
    HOME: folder.path,
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    npm_config_offline: 'true',
    npm_config_cache: join(folder.path, 'npm-cache'),
  };
  await runOrFail(['npm', 'install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', file], {
    env,
  });
  for (const name of PROGRAMS) {
    const { code, stdout } = await runCommand([join(prefix, 'bin', name), '--version'], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${name}/${VERSION} `)]);
  }
  // SQLite's add-on is found where npm put it.
  const made = join(folder.path, 'layout');
  const status = await runCommand(
    [join(prefix, 'bin/fleet-agent'), 'status', '--state', join(made, 'state'), '--root', '/'],
    { env },
  );
  expect(status.stderr).not.toMatch(/better_sqlite3|Cannot find module/);
});

describeWith(['podman', 'busybox', 'nodeBase', 'dockerRegistry'], 'images of the three programs', (paths) => {
  it('start as the user they say, with the version of the package, are the same from the same programs, and are pushed as lists of architectures', async () => {
    await using builder = await openPodman(paths.podman);
    const base = 'localhost/node-base:24';
    await importAgentBase(builder, base, { busybox: paths.busybox, libraries: paths.nodeBase });
    const { podman } = builder;
    const built = (out: string) =>
      buildImages({ context, out: join(folder.path, out), epoch: EPOCH, base, podman, names: IMAGES });
    for (const out of ['first', 'second']) await mkdir(join(folder.path, out));
    const archives = Object.entries(await built('first'));
    const again = await built('second');
    for (const [name, archive] of archives) {
      // Of the whole archive, which has the digest of every blob and the time of every entry.
      expect(await digestOfFile(again[name] ?? '')).toBe(await digestOfFile(archive));
      const image = imageName(name);
      const { stdout } = await builder.podman(['image', 'inspect', image]);
      const [inspected] = JSON.parse(stdout) as readonly { readonly Config: Record<string, unknown> }[];
      const config = inspected?.Config ?? {};
      expect(config).toMatchObject({
        User: '65532:65532',
        Entrypoint: [name],
        Labels: { 'org.opencontainers.image.title': name, 'org.opencontainers.image.version': VERSION },
      });
      const variables = (config['Env'] as readonly string[]).map((one) => {
        const at = one.indexOf('=');
        return [one.slice(0, at), one.slice(at + 1)] as const;
      });
      const { stdout: container } = await builder.podman(['create', image]);
      const tar = join(folder.path, `${name}.tar`);
      succeed(await builder.podman(['export', `--output=${tar}`, container.trim()]));
      const root = join(folder.path, `${name}-root`);
      await mkdir(root);
      await runOrFail(asRoot(['tar', '-xf', tar, '-C', root]));
      const started = await runCommand(
        asRoot(['chroot', '--userspec=65532:65532', root, `/opt/${name}/${name}`, '--version']),
        { env: { HOME: '/', ...Object.fromEntries(variables) } },
      );
      expect([started.stderr, started.stdout]).toEqual(['', expect.stringContaining(VERSION)]);
    }
    await using registry = await startRegistry(paths.dockerRegistry);
    const files = join(folder.path, 'files');
    await mkdir(files);
    for (const [name, archive] of archives)
      for (const architecture of ['amd64', 'arm64'])
        await copyFile(archive, join(files, `${name}_${VERSION}_${architecture}.oci.tar`));
    const prefix = `${registry.host}/fleet-ferry`;
    const pushed = await pushImages({ files, prefix, podman });
    expect(pushed).toEqual(archives.map(([name]) => `${prefix}/${name}:${VERSION}`));
    for (const [name] of archives) {
      const answer = await fetch(`${registry.url}/v2/fleet-ferry/${name}/manifests/${VERSION}`, {
        headers: { accept: 'application/vnd.oci.image.index.v1+json' },
      });
      const { manifests } = (await answer.json()) as { readonly manifests: readonly unknown[] };
      expect(manifests).toContainEqual(
        expect.objectContaining({ platform: expect.objectContaining({ architecture: 'amd64' }) }),
      );
    }
  });
});

const digestOfFile = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};
