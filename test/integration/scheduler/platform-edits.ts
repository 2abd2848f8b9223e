import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An edit that people do to a platform, as text, so that places move too. */
export type Edit = readonly [path: string, from: string, to: string];

export const CONFIGS = 'platform/environments/prod/configs';

/** Edits of a generated platform in the form `fleet`. */
export const FLEET_EDITS: readonly Edit[] = [
  [`${CONFIGS}/c50-type-0.yaml`, 'vpn-0', 'vpn-9'],
  [`${CONFIGS}/c00-everywhere.yaml`, '5432', '5433'],
  [`${CONFIGS}/c20-region-1.yaml`, 'apiVersion', '# A note.\napiVersion'],
  [`${CONFIGS}/c60-app-0.yaml`, '"WORKERS": "2"', '"WORKERS": "3"'],
  [`${CONFIGS}/c00-everywhere.yaml`, '"info"', '"verbose"'],
  ['platform/base/cluster-types/type-0001.yaml', 'region-1', 'region-0'],
  ['platform/images.lock.yaml', '5a5a', '5b5b'],
  ['apps/app-0001/manifests/deployment.yaml', 'replicas: 2', 'replicas: 3'],
  ['apps/app-0002/manifests/service.yaml', 'kind: Service', 'kind: [Service'],
  [
    'apps/app-0001/manifests/service.yaml',
    'apiVersion: v1\nkind: S',
    'apiVersion: plant.example/v1\nkind: S',
  ],
];

/** Does an edit, or takes it back where it is done. @returns whether the file has changed */
export const toggle = async (root: string, [path, from, to]: Edit): Promise<boolean> => {
  const file = join(root, path);
  const text = await readFile(file, 'utf8');
  const changed = text.includes(to) ? text.replace(to, from) : text.replace(from, to);
  await writeFile(file, changed);
  return changed !== text;
};
