import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildOptions } from '../../../../scheduler/build/build-options.ts';
import type { BuildOutcome } from '../../../../scheduler/build/build-outcome.ts';
import { build } from '../../../../scheduler/build/build.ts';
import type { ChannelOutcome } from '../../../../scheduler/build/channel-outcome.ts';
import { describeRemovals } from '../../../../scheduler/release/removals/removal.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../../../harness/fleets/folder-template.ts';
import { NOW, writeDevKeys } from '../../dev-keys.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { ours } from '../../fleet-platform.ts';

export { NOW };

/** A platform of two cluster types and three applications, that can be edited and built again and again. */
export type Office = {
  readonly folder: string;
  readonly layout: string;
  /** As it was at first. */
  readonly files: Readonly<Record<string, string>>;
  /** Replaces text in a file, which has to be there; undefined deletes the file. */
  readonly edit: (file: string, change: ((text: string) => string) | undefined) => Promise<void>;
  readonly build: (options?: Partial<BuildOptions>) => Promise<BuildOutcome>;
};

export const target = (name: string, environment: string, runs: string): string =>
  `    - {name: ${name}, environment: ${environment}, labels: {runs: ${runs}}, manifests: {path: host}}\n`;
export const workload = (name: string, ...targets: readonly string[]): string =>
  ours('Workload', name, `spec:\n  deploymentTargets:\n${targets.join('')}`);
export const registration = (name: string): string =>
  ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: sales\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  );
const policy = (name: string, runs: string, place: string): string =>
  ours(
    'SchedulingPolicy',
    name,
    `spec:
  deploymentTargetSelector: {labelSelector: {matchLabels: {runs: ${runs}}}}
  clusterTypeSelector: {labelSelector: {matchLabels: {place: ${place}}}}
`,
  );
export const directory = (path: string): string =>
  ours('HostPackage', 'files', `spec:\n  directories: [{path: ${path}}]\n`);

const FILES: Readonly<Record<string, string>> = {
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: qa}, {name: prod}]\n'),
  'platform/base/press.yaml': ours('ClusterType', 'press', '  labels: {place: hall}\nspec: {target: host}\n'),
  'platform/base/till.yaml': ours('ClusterType', 'till', '  labels: {place: shop}\nspec: {target: host}\n'),
  'platform/base/policies.yaml': `${policy('halls', 'host', 'hall')}---\n${policy('shops', 'till', 'shop')}`,
  'platform/base/screens.yaml': policy('screens', 'screen', 'hall'),
  'platform/base/labels.yaml': registration('labels'),
  'platform/base/scale.yaml': registration('scale'),
  'platform/base/info.yaml': registration('info'),
  'apps/labels/deploy/workload.yaml': workload(
    'labels',
    target('host', 'qa', 'host'),
    target('host', 'prod', 'host'),
  ),
  'apps/labels/host/package.yaml': directory('/opt/labels'),
  'apps/scale/deploy/workload.yaml': workload(
    'scale',
    target('host', 'prod', 'host'),
    target('till', 'prod', 'till'),
  ),
  'apps/scale/host/package.yaml': directory('/opt/scale'),
  'apps/info/deploy/workload.yaml': workload('info', target('screen', 'prod', 'screen')),
  'apps/info/host/package.yaml': directory('/opt/info'),
};

/** @param more files beside the platform's, or instead of them */
export const makeOffice = async (more: Readonly<Record<string, string>> = {}): Promise<Office> => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, { ...FILES, ...more });
  await writeDevKeys(folder);
  return openFolder(folder);
};

/** Folders of offices after their first build, made once for each process. */
const built = new Map<string, Promise<FolderTemplate>>();

/** An office as `makeOffice` makes it, after the first build of an environment. */
export const makeBuiltOffice = async (
  more: Readonly<Record<string, string>> = {},
  environment = 'prod',
): Promise<Office> => {
  const key = JSON.stringify([more, environment]);
  const template = built.get(key) ?? buildOffice(more, environment);
  built.set(key, template);
  const folder = await temporaryDirectory();
  writeTemplate(await template, folder);
  return openFolder(folder);
};

const buildOffice = async (
  more: Readonly<Record<string, string>>,
  environment: string,
): Promise<FolderTemplate> => {
  const office = await makeOffice(more);
  await office.build({ environments: [environment] });
  return await readTemplate(office.folder);
};

const openFolder = (folder: string): Office => {
  const layout = join(folder, 'out');
  return {
    folder,
    layout,
    files: FILES,
    edit: async (file, change) => {
      if (!change) return rm(join(folder, file));
      const text = readFileSync(join(folder, file), 'utf8');
      const changed = change(text);
      if (changed === text) throw new Error(`nothing changed in ${file}`);
      await writeFiles(folder, { [file]: changed });
    },
    build: async (options = {}) =>
      build({
        platform: join(folder, 'platform'),
        maps: [],
        cacheDirectory: join(folder, 'cache'),
        layout,
        keys: await openKeyDirectory(join(folder, 'keys')),
        environments: ['prod'],
        workers: 1,
        now: NOW,
        signal: new AbortController().signal,
        ...options,
      }),
  };
};

/** 'press released 2', and below it what is removed, and what stays because nobody declared its removal. */
export const summarise = ({ channels }: Pick<BuildOutcome, 'channels'>): readonly string[] =>
  channels.flatMap((channel: ChannelOutcome) => [
    `${channel.clusterType} ${channel.outcome} ${channel.version}`,
    ...describeRemovals(channel.removals, channel.clusterType).map((line) => `  ${line}`),
    ...describeRemovals(channel.unmeant, channel.clusterType).map((line) => `  keeps ${line}`),
  ]);
