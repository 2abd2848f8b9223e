import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf, hexOf } from '../../bundles/digest.ts';
import { FleetError } from '../../bundles/errors.ts';
import {
  type CertifiedFleet,
  createCertifiedFleet,
  type HubServer,
  startHubServer,
} from '../../test/agent/hub-server.ts';
import { type RegistryServer, startRegistryServer } from '../../test/agent/registry-server.ts';
import { runOrFail } from '../../test/harness/run/run-command.ts';
import { type TestBundle, writeTestMedium } from '../../test/harness/fleets/signed-medium.ts';

/** A connected agent that has applied its release, with its registry and hub. */
export type RunningAgent = AsyncDisposable & {
  readonly pid: number;
  /** Requests to registry and hub so far. */
  readonly requests: () => number;
};

export type AgentSetup = {
  /** fleet-agent.mjs, or the program from source. */
  readonly program: string;
  readonly folder: string;
  readonly bundle: (fleet: CertifiedFleet) => TestBundle;
  /** FLEET_AGENT_... variables besides those of registry, hub and state. */
  readonly env: Readonly<Record<string, string>>;
};

const APPLY_MS = 300_000;

/** Enrols at a hub, pulls a release from a registry, and returns when the release is applied and reported. */
export const startAgent = async ({ program, folder, bundle, env }: AgentSetup): Promise<RunningAgent> => {
  await using cleanup = new AsyncDisposableStack();
  const fleet = await createCertifiedFleet();
  const hub = cleanup.use(await startHubServer(fleet, folder));
  const registry = cleanup.use(await startRegistryServer());
  const root = join(folder, 'root');
  await mkdir(root, { recursive: true });
  const token = join(folder, 'token');
  await writeFile(token, 'token-1\n');
  const options = { env: { ...process.env, ...addresses(folder, root, hub, registry), ...env } };
  const root256 = hexOf(digestOf(fleet.roots[0] ?? ''));
  const names = ['--site=plant-7', '--name=kiosk-1', '--channel=prod/factory-host'];
  await runOrFail(
    [process.execPath, program, 'enroll', ...names, `--token-file=${token}`, `--root-sha256=${root256}`],
    options,
  );
  const release = { version: 1, bundle: bundle(fleet) };
  registry.publish(await writeTestMedium(join(folder, 'release'), fleet, { release }));
  const child = spawn(process.execPath, [program, 'run'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => end(child));
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-20_000);
  });
  const packages = release.bundle.config.assignments.length;
  const limit = AbortSignal.timeout(APPLY_MS);
  while (!log.includes(`"packages":${packages},"drifted":0,"msg":"looked"`)) {
    if (child.exitCode !== null || limit.aborted)
      throw new FleetError('IO', `the agent has not applied its release; it last said: ${log.slice(-2000)}`);
    await sleep(100);
  }
  const moved = cleanup.move();
  return {
    pid: child.pid ?? 0,
    requests: () => registry.asked.length + hub.asked.length,
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

const addresses = (
  folder: string,
  root: string,
  hub: HubServer,
  registry: RegistryServer,
): Readonly<Record<string, string>> => ({
  FLEET_AGENT_STATE: join(folder, 'state'),
  FLEET_AGENT_ROOT: root,
  FLEET_AGENT_SERVICES: 'none',
  FLEET_AGENT_HUB: hub.url,
  FLEET_AGENT_REGISTRY: registry.address,
});

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};
