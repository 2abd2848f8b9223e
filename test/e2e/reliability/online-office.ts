import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { type FaultyHub, startFaultyHub } from '../../harness/neighbours/faulty-hub.ts';
import { type FaultyLine, startFaultyLine } from '../../harness/neighbours/faulty-line.ts';
import { type FaultyRegistry, startFaultyRegistry } from '../../harness/neighbours/faulty-registry.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { type Office, openOffice } from '../office.ts';
import { makeProcess, type Process } from './process.ts';
import { succeed } from '../../harness/run/run-command.ts';

/** The office of e2e tests on line: a hub and a registry, each behind a line that misbehaves when it is asked to. */
export type OnlineOffice = AsyncDisposable &
  Office & {
    readonly hub: Process;
    readonly registry: FaultyRegistry;
    readonly hubLine: FaultyLine;
    readonly faultyHub: FaultyHub;
    /** What agents are configured with: 'oci://...', 'https://...' */
    readonly registryAddress: string;
    readonly hubAddress: string;
    /** false: every request of an agent is answered by the faulty hub. */
    readonly hubIsWell: (well: boolean) => void;
    /** The registry's process ends, and comes back with what it had. */
    readonly stopRegistry: () => Promise<void>;
    readonly startRegistry: () => Promise<void>;
    readonly token: (site: string) => Promise<string>;
    /** Build and publish, as two commands. */
    readonly release: () => Promise<void>;
    /** The words of a publish. */
    readonly publishing: readonly string[];
  };

export type OnlineOptions = {
  /** parts.dockerRegistry */
  readonly dockerRegistry: string;
  /** Where agents reach the office: the loopback, or the machine's end of a cable. */
  readonly address?: string;
  /** The hub builds and publishes automatically when a file changes; else `release` does. */
  readonly watches?: boolean;
  /** The hub's database; by default a SQLite file. */
  readonly database?: string;
  /** Runs before the hub starts. @returns further settings of the hub */
  readonly prepare?: (office: Office) => Promise<Readonly<Record<string, unknown>>>;
};

export const startOnlineOffice = async (folder: string, options: OnlineOptions): Promise<OnlineOffice> => {
  const { dockerRegistry, address = '127.0.0.1', watches = false, database, prepare } = options;
  await using cleanup = new AsyncDisposableStack();
  const office = await openOffice(folder, database);
  const [hubPort, registryPort] = [await freePort(), await freePort()];
  const settings = { storage: join(folder, 'registry'), port: registryPort };
  let running: Registry | undefined;
  const start = async (): Promise<void> => {
    running ??= await startRegistry(dockerRegistry, settings);
  };
  const stop = async (): Promise<void> => {
    await running?.[Symbol.asyncDispose]();
    running = undefined;
  };
  cleanup.defer(stop);
  await start();
  const registry = cleanup.use(await startFaultyRegistry(`127.0.0.1:${registryPort}`, address));
  const hubLine = cleanup.use(await startFaultyLine(`127.0.0.1:${hubPort}`, address));
  const keys = await openKeyDirectory(join(folder, 'keys'));
  const faultyHub = cleanup.use(await startFaultyHub(await keys.authority(), [address, 'localhost']));
  const straight = `oci://127.0.0.1:${registryPort}/fleet`;
  const settled = await prepare?.(office);
  await writeFile(
    join(folder, 'hub.yaml'),
    JSON.stringify({
      keys: 'keys',
      layout: 'releases',
      db: database ?? 'hub/hub.db',
      listen: `127.0.0.1:${hubPort}`,
      hostnames: [address, 'localhost'],
      registry: straight,
      // Releases of these tests rename most of what the one before had.
      ...(watches && {
        platform: 'platform',
        images: 'images',
        poll: '1s',
        environments: ['prod'],
        allowRemovals: 9,
      }),
      ...settled,
    }),
  );
  const serving = [process.execPath, programFile('scheduler'), 'serve', '--config', join(folder, 'hub.yaml')];
  const hub = cleanup.use(makeProcess(serving, { cwd: folder, ready: '"msg":"listening"' }));
  await hub.start();

  const publishing = ['publish', straight, '-e', 'prod'];
  const moved = cleanup.move();
  return {
    ...office,
    hub,
    registry,
    hubLine,
    faultyHub,
    registryAddress: `oci://${registry.host}/fleet`,
    hubAddress: `https://${hubLine.host}`,
    hubIsWell: (well) => hubLine.leadTo(well ? `127.0.0.1:${hubPort}` : faultyHub.host),
    stopRegistry: stop,
    startRegistry: start,
    token: async (site) => {
      const made = succeed(await office.scheduler('tokens', 'create', '--site', site, '--json'));
      return (JSON.parse(made.stdout) as { readonly token: string }).token;
    },
    publishing,
    release: async () => {
      succeed(await office.scheduler('build', '--images', 'images', '-e', 'prod'));
      succeed(await office.scheduler(...publishing));
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};
