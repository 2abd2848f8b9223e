import { copyFile, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { type Outcome, succeed } from '../harness/run/run-command.ts';
import { runAgent } from '../harness/run/run-agent.ts';
import { type Office, openOffice } from './office.ts';

/** The example company with its keys, and machines that are folders: what trust is about needs no booted host. */
export type TrustOffice = Office & {
  readonly path: (...names: readonly string[]) => string;
  /** The current release of a channel and the ones before it, newest first. */
  readonly releases: (channel: string) => Promise<readonly Release[]>;
  /** Makes, signs and installs the next root, by the ceremony's own verbs. */
  readonly rotate: (...changes: readonly string[]) => Promise<void>;
  /** A new key pair, '<name>.key' and '<name>.pub' in the office's folder. */
  readonly newKey: (name: string) => Promise<void>;
  /** From now on this key signs for the role here. */
  readonly use: (role: string, name: string) => Promise<void>;
  /** Enrols a machine. @param machine its folders begin with this, by default with its name @param words for `sites enroll` */
  readonly site: (
    name: string,
    site: string,
    channel: string,
    machine?: string,
    ...words: readonly string[]
  ) => Promise<FolderSite>;
};

export type Release = {
  readonly version: number;
  readonly bundles: readonly string[];
  readonly root: number;
  readonly revoked: string | null;
};

/** A machine that is a folder, with a stick of its own. */
export type FolderSite = {
  readonly stick: string;
  /** @param now what its clock says; without: the clock of the world */
  readonly agent: (words: readonly string[], now?: string) => Promise<Outcome>;
  readonly import: (medium?: string, now?: string) => Promise<Outcome>;
  readonly status: () => Promise<Status>;
};

export type Status = {
  readonly channel: string | null;
  readonly root: { readonly version: number };
  readonly release: { readonly version: number } | null;
  readonly packages: readonly { readonly assignment: string; readonly status: string }[];
};

export const CHANNEL = 'prod/kiosk';

export const openTrustOffice = async (folder: string): Promise<TrustOffice> => {
  const office = await openOffice(folder);
  const path = (...names: readonly string[]): string => join(folder, ...names);
  const keys = path('keys');
  const scheduler = async (...words: readonly string[]): Promise<Outcome> =>
    succeed(await office.scheduler(...words));
  const newest = async (): Promise<number> => {
    const versions = (await readdir(keys)).map((name) => Number(/^(\d+)\.root\.json$/.exec(name)?.[1] ?? 0));
    return Math.max(...versions);
  };
  await mkdir(path('drafts'));
  await scheduler('build', '--images', 'images', '--environment', 'prod');
  return {
    ...office,
    path,
    build: () => scheduler('build', '--images', 'images', '--environment', 'prod'),
    releases: async (channel) => {
      const { stdout } = await scheduler('releases', 'list', '--channel', channel, '--json');
      const { channels } = JSON.parse(stdout) as {
        readonly channels: readonly { readonly releases: readonly Release[] }[];
      };
      return channels[0]?.releases ?? [];
    },
    rotate: async (...changes) => {
      const version = await newest();
      const before = join(keys, `${version}.root.json`);
      const draft = path('drafts', `${version + 1}.root.json`);
      await scheduler('root', 'rotate', before, '--out', draft, ...changes);
      await scheduler('root', 'sign', draft, '--key', join(keys, 'root.key'), '--before', before, '--yes');
      await scheduler('root', 'install', draft);
    },
    newKey: async (name) => {
      await scheduler('keys', 'generate', '--plain', '--out', path(`${name}.key`));
    },
    use: async (role, name) => {
      await rename(join(keys, `${role}.key`), path(`${role}-before-${name}.key`));
      await copyFile(path(`${name}.key`), join(keys, `${role}.key`));
    },
    site: async (name, site, channel, machine = name, ...words) => {
      const stick = path(`${machine}-stick`);
      for (const one of [stick, path(`${machine}-root`)]) await mkdir(one);
      const agent = (given: readonly string[], now?: string): Promise<Outcome> =>
        runAgent(folder, given, {
          ...process.env,
          FLEET_AGENT_STATE: path(`${machine}-state`),
          FLEET_AGENT_ROOT: path(`${machine}-root`),
          FLEET_AGENT_SERVICES: 'none',
          ...(now !== undefined && { FLEET_NOW: now }),
        });
      const names = ['--fleet', 'halden', '--site', site, '--name', name, '--channel', channel];
      succeed(await agent(['enroll', stick, ...names, '--root-sha256', office.rootSha256]));
      await scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick)), ...words);
      await scheduler('sites', 'set', site, 'lineNumber=7', '--allow-unknown');
      return {
        stick,
        agent,
        import: (medium = stick, now) => agent(['import', medium], now),
        status: async () => JSON.parse((await agent(['status', '--json'])).stdout) as Status,
      };
    },
  };
};

/** The code that a refusal begins with; '' where there was none. */
export const refusalOf = ({ code, stderr }: Outcome): string =>
  code === 0 ? '' : (/\b([A-Z][A-Z_]{3,}): /.exec(stderr)?.[1] ?? `exit ${code}: ${stderr}`);
