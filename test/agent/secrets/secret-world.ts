import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { hostTarget } from '../../../agent/apply/host/host-target.ts';
import { runCommand } from '../../../agent/apply/host/run-command.ts';
import type { KubernetesApi } from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import type { Target } from '../../../agent/model/target.ts';
import { loadOrMakeRecipient } from '../../../agent/hub/age-identity.ts';
import {
  packTestBundle,
  type TestFleet,
  type TestPackage,
  type TestRelease,
  type TestSite,
} from '../../harness/fleets/signed-medium.ts';
import { copiesIn } from '../apply/kubernetes/kubernetes-site.ts';
import { createWorld, SITE, type World } from '../world.ts';

export type Values = Readonly<Record<string, string>>;

/** An agent on a folder as host, and an office that seals sets for it. */
export type SecretWorld = World & {
  readonly at: (path: string) => string;
  readonly read: (path: string) => Promise<string>;
  readonly recipient: string;
  readonly seal: (name: string, values: Values, more?: Sealing) => Promise<Buffer>;
  /** A medium with a site statement, and a release where there are packages; its path. */
  readonly bring: (what: Brought) => Promise<string>;
  readonly take: (what: Brought) => ReturnType<typeof importMedium>;
};

type Sealing = {
  readonly version?: number;
  readonly fleet?: string;
  readonly site?: string;
  readonly to?: readonly string[];
};

export type Brought = {
  readonly siteVersion?: number;
  readonly secrets?: TestSite['secrets'];
  readonly release?: number;
  readonly packages?: readonly TestPackage[];
  readonly bundle?: TestRelease['bundle'];
  readonly tamper?: Parameters<World['medium']>[0]['tamper'];
};

/** The host of a world: its folder `host` stands for '/'. */
export const hostOf = (folder: string): Target =>
  hostTarget({
    state: join(folder, 'state'),
    root: join(folder, 'host'),
    services: 'none',
    backups: join(folder, 'state/replaced'),
    maxBackupBytes: 64 << 20,
    pinnedBackups: () => new Set(),
    isRoot: process.getuid?.() === 0,
    run: runCommand,
  });

/** A cluster as target, by an API that is opened. @param folder of the world: what is taken over is kept there */
export const clusterOf = (api: KubernetesApi | undefined, folder: string): Target =>
  kubernetesTarget({
    open: async () => {
      if (!api) throw new Error('there is no cluster');
      return api;
    },
    fleet: 'halden',
    healthTimeoutMs: 20_000,
    stepTimeoutMs: 20_000,
    adopt: 'ifUnowned',
    copies: copiesIn(join(folder, 'state')),
  });

export const createSecretWorld = async (
  targets?: (folder: string) => readonly Target[],
  fleet?: TestFleet,
): Promise<SecretWorld> => {
  const world = await createWorld(fleet);
  const root = join(world.folder, 'host');
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\n');
  const agent = { ...world.agent, targets: targets?.(world.folder) ?? [hostOf(world.folder)] };
  const recipient = await loadOrMakeRecipient(agent.state.directory);
  const bring: SecretWorld['bring'] = ({ siteVersion = 1, secrets, release, packages, bundle, tamper }) => {
    const packed = bundle ?? (packages && packTestBundle(world.fleet, packages));
    return world.medium({
      site: {
        site: SITE,
        version: siteVersion,
        agents: [{ name: 'kiosk-1', key: agent.identity.key }],
        ...(secrets && { secrets }),
      },
      ...(packed && { release: { version: release ?? 1, bundle: packed } }),
      ...(tamper && { tamper }),
    });
  };
  const at = (path: string): string => join(root, path);
  return {
    ...world,
    agent,
    at,
    read: (path) => readFile(at(path), 'utf8'),
    recipient,
    seal: (name, values, { version = 1, site = SITE, fleet: of = world.fleet.name, to = [recipient] } = {}) =>
      sealSecretSet(
        {
          fleet: of,
          site,
          name,
          version,
          values: Object.fromEntries(
            Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
          ),
        },
        to,
      ),
    bring,
    take: async (what) => importMedium(agent, await bring(what)),
  };
};

/** A package that has one file and one secret. */
export const secretPackage = (
  id: string,
  set: string,
  key: string,
  more: Partial<TestPackage> = {},
): TestPackage => ({
  id,
  files: { [`/opt/${id}`]: id },
  secrets: [{ path: `/run/${id}/${key}`, set, key }],
  ...more,
});
