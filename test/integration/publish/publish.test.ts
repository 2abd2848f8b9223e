import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { PREDICATES } from '#bundles/media-types';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { NOW, newSigningKey } from '../../harness/fleets/signed-layout.ts';
import { startKillingProxy } from './killing-proxy.ts';
import { bundleOf, HOST, KIOSK, makePublishedWorld, type PublishedWorld } from './published-world.ts';

const SCHEDULER = programFile('scheduler');

describeOnVersions('dockerRegistry', [], 'publishing to docker-registry', ({ dockerRegistry }) => {
  let registry: Registry;
  let prefix = 0;
  const address = (): string => `oci://${registry.host}/fleet${prefix++}`;

  beforeAll(async () => {
    registry = await startRegistry(dockerRegistry);
  });
  afterAll(() => registry?.[Symbol.asyncDispose]());

  it('fills the same medium, byte for byte, as the layout', async () => {
    await using world = await makePublishedWorld();
    const to = address();
    const { code, stdout } = await world.scheduler(['publish', to]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('4 sent') as string]);
    for (const what of [{ channels: [KIOSK, HOST] }, { sites: ['plant-7'] }]) {
      await world.export(world.path('layout'), 'a.tar', what);
      await world.export(to, 'b.tar', what);
      const [a, b] = await Promise.all([readFile(world.path('a.tar')), readFile(world.path('b.tar'))]);
      expect(b.equals(a)).toBe(true);
    }
  });

  it('is refused as a source without --channel and --site, because registries cannot list channels', async () => {
    await using world = await makePublishedWorld();
    const to = address();
    await world.publish(to);
    await expect(world.export(to, 'a.tar', {})).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Name them with --channel, or a site with --site',
    });
    const gate = { channels: [{ environment: 'prod', clusterType: 'gate' }] };
    await expect(world.export(to, 'a.tar', gate)).rejects.toMatchObject({ code: 'CHANNEL_MISSING' });
  });

  it('costs one request for each pointer when nothing changed', async () => {
    await using world = await makePublishedWorld();
    await using proxy = await startKillingProxy(registry.host);
    const to = address().replace(registry.host, proxy.host);
    await world.scheduler(['publish', to]);
    const lines: string[] = [];
    proxy.onRequest = (_, line) => lines.push(line);
    const { code, stdout } = await world.scheduler(['publish', to, '--json']);
    expect(code).toBe(0);
    const { pointers } = JSON.parse(stdout) as { readonly pointers: readonly { readonly outcome: string }[] };
    expect(pointers.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 4 }, () => 'unchanged'));
    expect(lines.map((line) => line.split(' ')[0])).toEqual(Array.from({ length: 4 }, () => 'HEAD'));
  });

  it('killed at any request leaves the old or the new release complete, and the next run completes it', async () => {
    await using world = await makePublishedWorld();
    await using proxy = await startKillingProxy(registry.host);
    await cp(world.path('layout'), world.path('first'), { recursive: true });
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    const kiosk = { channels: [KIOSK] };
    const base = address();

    /** Ends at the n-th request, which the registry may still hear. @returns false: it was done before that */
    const publishAndDie = async (to: string, at: number): Promise<boolean> => {
      const child = spawn(
        process.execPath,
        [SCHEDULER, 'publish', to, '--channel', 'prod/kiosk', '--layout', world.path('layout')],
        {
          cwd: world.path(),
          env: {
            HOME: world.path(),
            FLEET_NOW: NOW.toISOString(),
            // One that is killed keeps nothing of what it compiled.
            NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          },
          stdio: 'ignore',
        },
      );
      proxy.count = 0;
      proxy.onRequest = (count) => {
        if (count === at) child.kill('SIGKILL');
      };
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      return signal === 'SIGKILL';
    };
    const seenAt = async (to: string): Promise<number | undefined> =>
      (await world.export(to, 'seen.tar', kiosk)).bundles[0]?.version;

    const pointerAt = async (to: string): Promise<string | undefined> => {
      await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
      return (await opened.repository('prod/kiosk').resolve('release'))?.digest;
    };
    const newest = findReference(await openLayout(world.path('layout')), 'prod/kiosk:release')?.digest;

    const seen: (number | undefined)[] = [];
    // One that nobody kills says how many requests there are: the last ones, where tags move, and some before; in a long run more.
    await world.publish(`${base}/whole`, 'first', kiosk);
    expect(await publishAndDie(`${base}/whole`.replace(registry.host, proxy.host), 0)).toBe(false);
    const all = Array.from({ length: proxy.count }, (_, index) => index + 1);
    const moments = all.filter((at) => at % (LONG ? 3 : 29) === 1 || at > all.length - (LONG ? 10 : 4));
    for (const at of moments) {
      // Each in a place of its own that has release 1.
      const to = `${base}/at${at}`;
      await world.publish(to, 'first', kiosk);
      expect(await publishAndDie(to.replace(registry.host, proxy.host), at)).toBe(true);
      seen.push(await seenAt(to));
      await rm(world.path('seen.tar'));
      await world.publish(to, 'layout', kiosk);
      expect(await pointerAt(to)).toBe(newest);
    }
    // An image, a bundle, a statement and a release.
    expect(all.length).toBeGreaterThan(30);
    expect(seen[0]).toBe(1);
    expect(new Set(seen)).toEqual(new Set([1, 2]));
  }, 300_000);
});

const verifyWithCosign = async (cosign: string, host: string, world: PublishedWorld): Promise<void> => {
  await writeFile(world.path('bundle.pub'), world.fleet.keys.bundle.public.pem);
  await writeFile(world.path('stranger.pub'), newSigningKey().public.pem);
  const verify = (key: string, type: string) =>
    runCommand(
      [
        cosign,
        'verify-attestation',
        '--insecure-ignore-tlog',
        '--allow-http-registry',
        '--key',
        world.path(key),
        '--type',
        type,
        `${host}/fleet/prod/kiosk:bundle`,
      ],
      { cwd: world.path(), env: { PATH: process.env['PATH'], HOME: world.path() } },
    );
  const good = await verify('bundle.pub', PREDICATES.bundle);
  expect([good.code, good.stderr]).toEqual([0, expect.any(String) as string]);
  const { payload } = JSON.parse(good.stdout.trim().split('\n').at(-1) ?? '') as { payload: string };
  expect(JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))).toMatchObject({
    predicateType: PREDICATES.bundle,
    predicate: { clusterType: 'kiosk' },
  });
  expect((await verify('stranger.pub', PREDICATES.bundle)).code).not.toBe(0);
  expect((await verify('bundle.pub', PREDICATES.release)).code).not.toBe(0);
};

const tagsOf = async (host: string): Promise<readonly string[]> => {
  await using opened = openRegistry(parseRegistryAddress(`oci://${host}/fleet`), { plainHttp: [], env: {} });
  return await opened.repository('prod/kiosk').tags();
};

describeOnVersions(
  'dockerRegistry',
  ['cosign'],
  'a bundle in docker-registry',
  ({ dockerRegistry, cosign }) => {
    it('passes verify-attestation of cosign with the key, by the fallback tag', async () => {
      await using registry = await startRegistry(dockerRegistry);
      await using world = await makePublishedWorld();
      await world.publish(`oci://${registry.host}/fleet`);
      expect((await tagsOf(registry.host)).filter((tag) => tag.startsWith('sha256-'))).toHaveLength(1);
      await verifyWithCosign(cosign, registry.host, world);
    });
  },
);

describeWith(
  ['ociregistry', 'cosign'],
  'a bundle in a registry with referrers',
  ({ ociregistry, cosign }) => {
    it('passes verify-attestation of cosign with the key, without a fallback tag', async () => {
      await using registry = await startOciRegistry(ociregistry);
      await using world = await makePublishedWorld();
      await world.publish(`oci://${registry.host}/fleet`);
      expect((await tagsOf(registry.host)).filter((tag) => tag.startsWith('sha256-'))).toEqual([]);
      await verifyWithCosign(cosign, registry.host, world);
    });
  },
);

describeWith(['ociregistry'], 'publishing to a registry with referrers', ({ ociregistry }) => {
  it('fills the same medium, publishes the next release, and removes the old one with gc', async () => {
    await using registry = await startOciRegistry(ociregistry);
    await using world = await makePublishedWorld();
    const to = `oci://${registry.host}/fleet`;
    await world.publish(to);
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    expect(await world.publish(to)).toMatchObject({
      'prod/kiosk:release': 'sent',
      'sites/plant-7:site': 'unchanged',
    });
    await world.export(world.path('layout'), 'a.tar', { sites: ['plant-7'] });
    await world.export(to, 'b.tar', { sites: ['plant-7'] });
    expect((await readFile(world.path('b.tar'))).equals(await readFile(world.path('a.tar')))).toBe(true);
    const before = await tagsOf(registry.host);
    const { code, stdout } = await world.scheduler(['gc', to, '--keep', '0', '--yes']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('removed: 1 release, 1 statement, 1 bundle, 1 image; 1 stay') as string,
    ]);
    // A release, a bundle, its statement and its image.
    expect((await tagsOf(registry.host)).length).toBe(before.length - 4);
    await rm(world.path('b.tar'));
    await world.export(to, 'b.tar', { sites: ['plant-7'] });
  });
});
