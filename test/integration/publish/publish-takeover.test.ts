import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { documentsOf } from '#bundles/formats/layout/artifact';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { describeWith } from '../../harness/run/describe-with.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform } from '../../scheduler/fleet-platform.ts';
import { FLEET } from '../../scheduler/hub/test-hub.ts';
import { connect, type HubProcess, type Office, startOffice } from '../hub/hub-process.ts';
import { startKillingProxy } from './killing-proxy.ts';

const REPOSITORY = 'qa/press';

describeWith(['postgresql', 'ociregistry'], 'two publishing replicas', ({ postgresql, ociregistry }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const prepare = async (office: Office, registry: string): Promise<void> => {
    const files = Object.entries(fleetPlatform()).filter(([path]) => !path.includes('edge'));
    const renamed = files.map(([path, text]) => [path, text.replaceAll('halden', FLEET)]);
    await writeFiles(office.path, Object.fromEntries(renamed));
    await mkdir(join(office.path, 'cache'));
    const config = await readFile(join(office.path, 'fleet-scheduler.yaml'), 'utf8');
    await writeFile(
      join(office.path, 'fleet-scheduler.yaml'),
      `${config}platform: platform\ncache: cache\nregistry: oci://${registry}/fleet\nenvironments: [qa]\npoll: 1s\n`,
    );
  };

  const change = (office: Office, version: number) =>
    writeFiles(office.path, {
      'apps/shop/host/package.yaml': `apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata:\n  name: web\nspec:\n  directories: [{path: /opt/shop/web-${version}}]\n`,
    });

  const isLeading = async ({ url }: HubProcess, office: Office): Promise<boolean> => {
    await using client = connect(url, office.authority);
    return (await client.get('/readyz')).text.includes('leads');
  };

  /** Number and digest of each release that the registry ever had, and the number that its pointer names. */
  const releasesIn = async (registry: string) => {
    await using opened = openRegistry(parseRegistryAddress(`oci://${registry}/fleet`), {
      plainHttp: [],
      env: {},
    });
    const repository = opened.repository(REPOSITORY);
    const read = async (tag: string) => {
      const manifest = await repository.fetchManifest(tag);
      const documents = documentsOf(parseImageManifest(manifest?.bytes ?? Buffer.alloc(0), tag));
      const release = documents.find(({ role }) => role === 'release');
      return { number: release?.version, digest: release?.digest };
    };
    const tags = (await repository.tags()).filter((tag) => tag.startsWith('r-'));
    return { all: await Promise.all(tags.map(read)), current: await read('release') };
  };

  it('complete what a killed one had begun, at any request, and give out no number twice', async () => {
    await using office = await startOffice();
    await using registry = await startOciRegistry(ociregistry);
    await using proxy = await startKillingProxy(registry.host);
    await prepare(office, proxy.host);
    const words = ['--db', server.url(await server.create())];
    const hubs = [await office.serve(...words), await office.serve(...words)];
    await using _hubs = {
      [Symbol.asyncDispose]: async () => {
        for (const hub of hubs) await hub[Symbol.asyncDispose]();
      },
    };
    const waitFor = (version: number) =>
      vi.waitFor(async () => expect((await releasesIn(registry.host)).current.number).toBe(version), {
        timeout: 120_000,
        interval: 200,
      });
    await waitFor(1);
    let tried = 0;
    let kills = 0;
    for (let at = 1, version = 2; at <= 14; at += 1) {
      if (!isTried(at + 1)) continue;
      if (!LONG && tried === 2) break;
      tried += 1;
      const leading = (await isLeading(hubs[0] as HubProcess, office)) ? 0 : 1;
      proxy.count = 0;
      let isKilled = false;
      proxy.onRequest = (count, line) => {
        // Questions about what has changed come in every round; a push begins what is counted.
        if (isKilled || count !== at || line === '') return;
        isKilled = hubs[leading]?.child.kill('SIGKILL') === true;
      };
      await change(office, version);
      await waitFor(version);
      proxy.onRequest = () => {};
      if (isKilled) {
        kills += 1;
        await hubs[leading]?.stop('SIGKILL');
        hubs[leading] = await office.serve(...words);
      }
      version += 1;
    }
    expect(kills).toBeGreaterThan(0);
    const { all, current } = await releasesIn(registry.host);
    const numbers = all.map(({ number }) => number).toSorted((a = 0, b = 0) => a - b);
    expect(numbers).toEqual(Array.from({ length: tried + 1 }, (_, index) => index + 1));
    expect(current.number).toBe(tried + 1);
    if (LONG) console.log(`publish: ${kills} leaders killed, ${numbers.length} releases, each number once`);
  }, 900_000);
});
