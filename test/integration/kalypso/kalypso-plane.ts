import { join } from 'node:path';
import { parse } from 'yaml';
import { formatError } from '../../../bundles/errors.ts';
import { loadPlatform } from '../../../scheduler/load/load-platform.ts';
import { problemsOf } from '../../../scheduler/model/problems.ts';
import { renderEnvironment } from '../../../scheduler/render/render-environment.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import {
  CONTROL_PLANE,
  kalypsoDev,
  kalypsoMain,
  SHOP,
  shopRepository,
} from '../../scheduler/kalypso-platform.ts';

export const GLOBAL = 'https://example.com/platform/global';

const prefixed = (folder: string, tree: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(tree).map(([path, text]) => [`${folder}/${path}`, text]));

/** The control plane of one cluster type and one application, with more files laid over it; undefined takes one away. */
export const optionsFor = async (more: Readonly<Record<string, string | undefined>>) => {
  const directory = await temporaryDirectory();
  const files = {
    ...prefixed('main', kalypsoMain()),
    ...prefixed('dev', kalypsoDev()),
    ...prefixed('shop', shopRepository()),
    'global/README.md': '',
    ...more,
  };
  const there = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  await writeFiles(directory, Object.fromEntries(there));
  const maps = [
    { repo: CONTROL_PLANE, ref: 'dev', directory: join(directory, 'dev') },
    { repo: CONTROL_PLANE, ref: 'main', directory: join(directory, 'main') },
    { repo: SHOP, directory: join(directory, 'shop') },
    { repo: GLOBAL, directory: join(directory, 'global') },
  ];
  const platform = join(directory, 'main');
  const options = { platform, environment: 'dev', maps, cacheDirectory: join(directory, 'cache'), env: {} };
  const cut = (text: string): string => text.replaceAll(`${directory}/`, '');
  return { options, cut };
};

export const render = async (more: Readonly<Record<string, string | undefined>> = {}) => {
  const { options, cut } = await optionsFor(more);
  const { platform, schedule, result, tree } = renderEnvironment(await loadPlatform(options));
  const files = Object.fromEntries([...tree].map(([path, bytes]) => [path, bytes.toString()]));
  const held = result.held.map(({ assignment, error }) => [
    `${assignment.clusterType.name}/${assignment.target.name}`,
    cut(formatError(error)),
  ]);
  return { platform, files, held, advice: schedule.advice.map((one) => cut(formatError(one))) };
};

export const complaints = async (
  more: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> => {
  const { options, cut } = await optionsFor(more);
  return await loadPlatform(options).then(
    () => [],
    (error: unknown) => problemsOf(error).map((one) => cut(formatError(one))),
  );
};

export const GROUP = 'scheduler.kalypso.io/v1alpha1';

export const object = (kind: string, name: string, spec: string, metadata = ''): string =>
  `apiVersion: ${GROUP}\nkind: ${kind}\nmetadata:\n  name: ${name}\n${metadata}spec:\n${spec}`;

export const configMap = (name: string, labels: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  labels: {platform-config: "true"${labels}}\ndata:\n${data}`;

export const template = (name: string, type: string, text: string): string =>
  object('Template', name, `  type: ${type}\n  manifests:\n    - ${JSON.stringify(text)}\n`);

/** What edge/shop-web is given as configuration. */
export const configOf = async (more: Readonly<Record<string, string | undefined>>): Promise<unknown> =>
  parse(
    (await render({ 'dev/configs/eu.yaml': undefined, ...more })).files[
      'edge/shop-web/platform-config.yaml'
    ] ?? '',
  );
