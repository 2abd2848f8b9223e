import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { signSimply, signWithBundle } from '../../bundles/trust/images/sign-image.ts';
import { bundleOf, KIOSK, makeWorld, type World } from '../../exporter/world.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startFaultyRegistry } from '../../harness/neighbours/faulty-registry.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { newSigningKey } from '../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const key = newSigningKey();
const NOW = '2026-11-21T08:00:00Z';
/** How often is what counts here, and not how long is waited in between. */
const HURRY = { FLEET_REGISTRY_DELAY: '2' };

const KINDS = [
  ['dockerRegistry', 'docker-registry', startRegistry],
  ['ociregistry', 'a registry with the referrers API', startOciRegistry],
] as const;

for (const [part, title, start] of KINDS) {
  describeWith(['skopeo', 'cosign', part], `a medium that is pushed into ${title}`, (paths) => {
    let world: World;
    let registry: AsyncDisposable & { readonly host: string };
    beforeAll(async () => {
      registry = await start(paths[part as keyof typeof paths]);
      world = await makeWorld();
      const images = [
        {
          name: 'web',
          layers: [Buffer.alloc(50_000, 'base'), Buffer.alloc(700, 'one')],
          attach: async (blobs: Map<Digest, Buffer>, image: Parameters<typeof signWithBundle>[1]) => [
            await signWithBundle(blobs, image, key),
            await signSimply(blobs, image.digest, key),
          ],
        },
      ];
      const bundle = { ...bundleOf('one'), images };
      await world.layout.release({ channel: KIOSK, version: 1, bundles: [bundle] });
      await world.export('1');
      await world.export('1.tar');
      await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
      await world.export('delta', { bases: [world.path('1')] });
    });
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await registry?.[Symbol.asyncDispose]();
    });

    const exporter = (...words: readonly string[]): Promise<Outcome> =>
      runExporter(world.path(), [...words, '--now', NOW], { ...process.env, ...HURRY });
    const push = (
      name: string,
      prefix: string,
      host = registry.host,
      ...more: readonly string[]
    ): Promise<Outcome> => exporter('push', world.path(name), '--to', `oci://${host}/${prefix}`, ...more);

    it("can be copied by skopeo under the image's name, and cosign verifies it", async () => {
      await using folder = await temporaryDirectory('pushed');
      const pushed = await push('1.tar', 'fleet', registry.host, '--json');
      expect(pushed.code, pushed.stdout + pushed.stderr).toBe(0);
      const { references } = JSON.parse(pushed.stdout) as { references: Record<string, string> };
      const [name = ''] = Object.keys(references).filter((it) => it.startsWith('registry.test/web@'));
      expect(references[name]).toContain(`${registry.host}/fleet/registry.test/web:i-`);
      const reference = `${registry.host}/fleet/${name}`;
      const copied = await runCommand([
        paths.skopeo,
        'copy',
        '--src-tls-verify=false',
        `docker://${reference}`,
        `dir:${join(folder.path, 'web')}`,
      ]);
      expect(copied.code, copied.stderr).toBe(0);
      await writeFile(join(folder.path, 'key.pub'), key.public.pem);
      for (const form of [[], ['--new-bundle-format=false']]) {
        const words = ['verify', '--key', 'key.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];
        const verified = await runCommand([paths.cosign, ...words, ...form, reference], {
          cwd: folder.path,
          env: { PATH: process.env['PATH'], HOME: folder.path },
        });
        expect(verified.code, verified.stderr).toBe(0);
      }
    });

    it('accepts a delta, refuses an older medium, and can be pruned', async () => {
      const prefix = 'steps';
      const early = await push('delta', prefix);
      expect(early.code).not.toBe(0);
      expect(early.stderr).toContain('leaves out');
      succeed(await push('1', prefix));
      const second = await push('delta', prefix);
      expect(second.code, second.stderr).toBe(0);
      expect(second.stdout).toMatch(/prod\/kiosk:release +release 2 {2}sent/);
      const again = await push('delta', prefix);
      expect(again.stdout).toContain('there already');
      const back = await push('1', prefix);
      expect(back.code).not.toBe(0);
      expect(back.stderr).toContain('is release 2 already, here is release 1');
      const to = `oci://${registry.host}/${prefix}`;
      const planned = await exporter('prune', to, '--keep', '1');
      expect(planned.code, planned.stderr).toBe(0);
      const pruned = await exporter('prune', to, '--keep', '1', '--yes');
      if (part === 'dockerRegistry') expect(pruned.stdout, pruned.stderr).toMatch(/: [1-9]\d* tags removed/);
      await using client = openRegistry({ host: registry.host, prefix }, { plainHttp: [], env: {} });
      expect(await client.repository('prod/kiosk').resolve('release')).toBeDefined();
    });

    it('arrives completely through a connection that fails often, or is refused in one message', async () => {
      await using faulty = await startFaultyRegistry(registry.host);
      let count = 0;
      faulty.fault = (line) => {
        count += 1;
        if (count % 19 === 0) return { kind: 'answer', status: 429, headers: { 'retry-after': '0' } };
        if (count % 23 === 0) return { kind: 'answer', status: 503 };
        if (count % 29 === 0 && line.startsWith('GET')) return { kind: 'cut', bytes: 10 };
        return undefined;
      };
      const pushed = await push('1', 'faulty', faulty.host);
      expect(pushed.code, pushed.stderr).toBe(0);
      expect(faulty.faults).toBeGreaterThan(3);
      faulty.fault = (line) =>
        line.startsWith('PUT') && line.includes('/manifests/') ? { kind: 'answer', status: 403 } : undefined;
      const refused = await push('1', 'refused', faulty.host);
      expect(refused.code).not.toBe(0);
      expect(
        refused.stderr
          .trim()
          .split('\n')
          .filter((line) => line.startsWith('fleet-export:')),
      ).toHaveLength(1);
      await using client = openRegistry(
        { host: registry.host, prefix: 'refused' },
        { plainHttp: [], env: {} },
      );
      expect(await client.repository('prod/kiosk').resolve('release')).toBeUndefined();
    });
  });
}

describeWith(['dockerRegistry'], 'an export of many blobs from an unreliable registry', (paths) => {
  let world: World;
  let registry: AsyncDisposable & { readonly host: string };
  beforeAll(async () => {
    registry = await startRegistry(paths.dockerRegistry);
    world = await makeWorld();
    const images = Array.from({ length: 50 }, (_, at) => ({
      name: `app-${at}`,
      layers: [Buffer.alloc(20_000, 'base'), Buffer.alloc(3000, `layer ${at}`)],
    }));
    await world.layout.release({ channel: KIOSK, version: 1, bundles: [{ ...bundleOf('one'), images }] });
    await world.export('full');
    const to = `oci://${registry.host}/fleet`;
    const pushed = await runExporter(world.path(), ['push', world.path('full'), '--to', to, '--now', NOW]);
    expect(pushed.code, pushed.stderr).toBe(0);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
  });

  const create = (host: string, to: string, temporary: string): Promise<Outcome> =>
    runExporter(
      world.path(),
      ['create', '--from', `oci://${host}/fleet`, '--channel', 'prod/kiosk', '--to', to, '--now', NOW],
      { ...process.env, ...HURRY, TMPDIR: temporary },
    );

  it('writes the same medium as without faults, and no growing file beside it', async () => {
    await using folder = await temporaryDirectory('faults');
    const temporary = join(folder.path, 'tmp');
    await mkdir(temporary);
    await using faulty = await startFaultyRegistry(registry.host);
    let count = 0;
    faulty.fault = (line) => {
      count += 1;
      if (count % 37 === 0) return { kind: 'answer', status: 429, headers: { 'retry-after': '0' } };
      if (count % 41 === 0) return { kind: 'answer', status: 500 };
      if (count % 43 === 0 && line.includes('/blobs/')) return { kind: 'cut', bytes: 100 };
      return undefined;
    };
    const created = await create(faulty.host, join(folder.path, 'medium'), temporary);
    expect(created.code, created.stderr).toBe(0);
    expect(faulty.faults).toBeGreaterThan(8);
    expect(await blobsIn(join(folder.path, 'medium'))).toEqual(await blobsIn(world.path('full')));
    expect(await filesIn(temporary)).toEqual([]);
    expect(await filesIn(folder.path, 'medium')).toEqual([]);
  });

  it('ends with one message when a blob is always wrong, and leaves no complete medium', async () => {
    await using folder = await temporaryDirectory('lies');
    await using faulty = await startFaultyRegistry(registry.host);
    let bad: string | undefined;
    faulty.fault = (line) => {
      const [, blob] = /^GET .*\/blobs\/(sha256:[0-9a-f]+)/.exec(line) ?? [];
      // One in the middle of the transfer, and always the same.
      if (blob && faulty.asked.length > 125) bad ??= blob;
      return blob !== undefined && blob === bad ? { kind: 'flip' } : undefined;
    };
    const created = await create(faulty.host, join(folder.path, 'medium'), folder.path);
    expect(created.code).not.toBe(0);
    expect(bad).toBeDefined();
    const said = created.stderr.split('\n').filter((line) => line.startsWith('fleet-export:'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain((bad ?? '').slice(0, 19));
    await expect(stat(join(folder.path, 'medium', 'fleet', 'medium.json'))).rejects.toThrow();
  });
});

const filesIn = async (folder: string, but?: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => but === undefined || !name.startsWith(`${but}/`))
    .toSorted();
};

const blobsIn = async (medium: string): Promise<readonly string[]> =>
  (await filesIn(medium)).filter((name) => name.startsWith('blobs/'));
