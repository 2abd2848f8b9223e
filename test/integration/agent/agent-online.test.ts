import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { digestOf, hexOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { readIdentity } from '../../../agent/store/identity.ts';
import { openState } from '../../../agent/store/state.ts';
import {
  type CertifiedFleet,
  createCertifiedFleet,
  type HubServer,
  startHubServer,
} from '../../agent/hub-server.ts';
import { startRegistryServer } from '../../agent/registry-server.ts';
import { onePackage } from '../../agent/world.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { packTestBundle, type TestMedium, writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PROGRAM = programFile('agent');

/** Until it holds, or the test has waited long enough to know that it never will. */
const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = AbortSignal.timeout(180_000);
  while (!limit.aborted) {
    if (await holds()) return;
    await sleep(100);
  }
  throw new Error(`never: ${what}`);
};

describeWith(['dockerRegistry'], 'a connected agent as a process', ({ dockerRegistry }) => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let fleet: CertifiedFleet;
  let hub: HubServer;
  let registry: Registry;
  let address = '';
  let daemon: ReturnType<typeof start>;
  let log = '';
  const at = (name: string): string => join(folder, name);

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('agent-online')).path;
    await mkdir(at('root'));
    fleet = await createCertifiedFleet();
    hub = stack.use(await startHubServer(fleet, folder));
    registry = await startRegistry(dockerRegistry);
    address = `oci://${registry.host}/fleet`;
  });
  afterAll(async () => {
    daemon?.kill('SIGKILL');
    await stack.disposeAsync();
  });

  const start = (...words: readonly string[]) =>
    spawn(process.execPath, [PROGRAM, ...words], {
      env: {
        ...process.env,
        FLEET_AGENT_STATE: at('state'),
        FLEET_AGENT_ROOT: at('root'),
        FLEET_AGENT_SERVICES: 'none',
        FLEET_AGENT_HUB: hub.url,
        FLEET_AGENT_REGISTRY: address,
        FLEET_AGENT_POLL: '1s',
        FLEET_AGENT_INTERVAL: '3s',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  const agent = async (...words: readonly string[]) => {
    const child = start(...words);
    const [out, err, [code]] = await Promise.all([
      Array.fromAsync(child.stdout),
      Array.fromAsync(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
  };

  const medium = (version: number, content: string, more: TestMedium = {}): Promise<string> => {
    using state = openState(at('state'));
    const { key, request } = readIdentity(state);
    const { recipient } = JSON.parse(request) as { readonly recipient: string };
    const bundle = packTestBundle(fleet, [onePackage('line', content)]);
    // To the letter the order that the hub answered with.
    const site = { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key, recipient }] };
    return writeTestMedium(at(`medium-${version}`), fleet, { site, release: { version, bundle }, ...more });
  };

  /** As a publisher does: blobs, manifests, then the tags. */
  const publish = async (path: string): Promise<void> => {
    await using staged = await startRegistryServer();
    staged.publish(path);
    await using open = openRegistry(parseRegistryAddress(address), { plainHttp: [], env: {} });
    for (const [name, digest] of staged.tags) {
      const [path = '', tag = ''] = name.slice('fleet/'.length).split(':');
      const repository = open.repository(path);
      const bytes = staged.blobs.get(digest) ?? Buffer.alloc(0);
      const { config, layers } = parseImageManifest(bytes);
      for (const blob of [config, ...layers]) {
        const content = staged.blobs.get(blob.digest) ?? Buffer.alloc(0);
        await repository.pushBlob(blob, async () => Readable.from([content]));
      }
      await repository.pushManifest(tag, { mediaType: OCI_MANIFEST, bytes });
    }
  };

  const live = () => readFile(at('root/opt/line'), 'utf8').catch(() => '');
  const types = () => [...hub.events.values()].map(({ type }) => type);
  const logged = (message: string) =>
    log.split('\n').filter((line) => line.includes(`"msg":"${message}"`)).length;

  it('waits for its enrolment, then applies the release of the registry and reports to the hub', async () => {
    daemon = start('run');
    daemon.stdout.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    await until('the daemon waits', () => log.includes('waiting for the enrolment'));
    await writeFile(at('token'), 'token-1\n', { mode: 0o600 });
    const names = ['--site', 'plant-7', '--name', 'kiosk-1', '--channel', 'prod/factory-host'];
    const root = ['--root-sha256', hexOf(digestOf(fleet.roots[0] ?? ''))];
    const wrong = await agent('enroll', ...names, ...root);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('--token-file') });
    const enrolled = await agent('enroll', ...names, ...root, '--token-file', at('token'));
    expect(enrolled).toMatchObject({ code: 0, err: '', out: expect.stringContaining('prod/factory-host') });
    await publish(await medium(1, 'one'));
    await until('release 1 runs', async () => (await live()) === 'one');
    await until('the hub knows', () => types().includes('package'));
    expect(types()).toEqual(['enrolled', 'imported', 'imported', 'package']);
  });

  it('has registry and hub in status, and doctor finds them good', async () => {
    const { out } = await agent('status');
    expect(out).toMatch(/^Registry oci:\/\/127\.0\.0\.1:\d+\/fleet: last asked \S+Z; next at \S+Z$/m);
    expect(out).toMatch(/^Hub {6}https:\/\/localhost:\d+: last handed over \S+Z; next at \S+Z$/m);
    const { findings } = JSON.parse((await agent('doctor', '--json')).out);
    expect(findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'registry', verdict: 'good' }),
        expect.objectContaining({ name: 'hub', verdict: 'good' }),
        expect.objectContaining({ name: 'certificate', verdict: 'good' }),
      ]),
    );
  });

  it('applies the next release without a command', async () => {
    await publish(await medium(2, 'two'));
    await until('release 2 runs', async () => (await live()) === 'two');
  });

  it('continues without registry and hub, serves an import by hand, and logs one line', async () => {
    await until(
      'the hub has all',
      async () => JSON.parse((await agent('status', '--json')).out).outbox.events === 0,
    );
    // Where the machine is busy, both may have failed for a moment before.
    const before = { registry: logged('registry failed'), hub: logged('hub failed') };
    await registry[Symbol.asyncDispose]();
    hub.mischief = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    await writeFile(at('root/opt/line'), 'edited');
    await until('drift is corrected', async () => (await live()) === 'two');
    const imported = await agent('import', await medium(3, 'three'));
    expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('Accepted release 3') });
    expect(await live()).toBe('three');
    await until('both are said to fail', async () => {
      const { out } = await agent('status');
      return (
        /^Registry .* failing since \S+Z: REGISTRY_UNREACHABLE: /m.test(out) &&
        /^Hub .*, \d+ events waiting, failing since \S+Z: HUB_UNREACHABLE: /m.test(out)
      );
    });
    await sleep(5000);
    const lines = [logged('registry failed') - before.registry, logged('hub failed') - before.hub];
    // None, if it was failing already.
    expect(Math.max(...lines), log.slice(-4000)).toBeLessThanOrEqual(1);
    expect(Math.min(logged('registry failed'), logged('hub failed'))).toBeGreaterThan(0);
  });

  it('delivers all waiting events once each when the hub is back, and ends on SIGTERM', async () => {
    hub.mischief = undefined;
    await until(
      'the hub has all',
      async () => JSON.parse((await agent('status', '--json')).out).outbox.events === 0,
    );
    const seqs = [...hub.events.keys()].toSorted((a, b) => a - b);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(types()).toEqual(expect.arrayContaining(['drift', 'corrected']));
    daemon.kill('SIGTERM');
    const [code] = (await once(daemon, 'exit')) as [number | null];
    expect(code).toBe(0);
    expect(log.trimEnd().split('\n').at(-1)).toContain('"msg":"stopped"');
  });
});
