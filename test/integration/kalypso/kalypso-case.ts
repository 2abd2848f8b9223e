import { existsSync } from 'node:fs';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { PlatformOptions } from '../../../scheduler/load/platform/load-options.ts';
import type { SourceMap } from '../../../scheduler/model/location.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';

/** Recorded runs of the real Kalypso scheduler; third-party data, so not part of this repository. */
export const KALYPSO_CASES = resolve(
  process.env['FLEET_KALYPSO_CASES'] ?? join(import.meta.dirname, '../../../../shared/kalypso/cases'),
);

/** A case with input-shim laid over input and every repository of it mapped to its directory. */
export const openCase = async (name: string, environment: string): Promise<PlatformOptions> => {
  const directory = await temporaryDirectory();
  const folder = join(KALYPSO_CASES, name);
  await cp(join(folder, 'input'), directory, { recursive: true });
  if (existsSync(join(folder, 'input-shim')))
    await cp(join(folder, 'input-shim'), directory, { recursive: true });
  await cp(join(directory, 'environments'), join(directory, 'base-main', '.environments'), {
    recursive: true,
  });
  return {
    platform: join(directory, 'base-main'),
    maps: await mapsOf(directory, environment, folder),
    cacheDirectory: join(directory, 'cache'),
    env: {},
  };
};

/** Which directory of a case stands for which repository. */
const mapsOf = async (
  directory: string,
  environment: string,
  folder: string,
): Promise<readonly SourceMap[]> => {
  const maps: SourceMap[] = [];
  const add = ({ repo, branch }: Folder, to: string) => maps.push({ repo, ref: branch, directory: to });
  for (const { metadata, spec } of await objectsIn(join(directory, 'environments')))
    if (metadata.name === environment) add(spec.controlPlane, join(directory, 'env'));
  for (const { kind, metadata, spec } of await objectsIn(join(directory, 'env'))) {
    if (kind === 'BaseRepo') add(spec, join(directory, `base-${metadata.name}`));
    // What was published where that is known, else what the real scheduler made.
    const published = ['published', 'expected'].map((one) => join(folder, one, 'gitops')).find(existsSync);
    if (kind === 'GitOpsRepo' && published) add(spec, published);
  }
  for (const { kind, metadata, spec } of await objectsIn(join(directory, 'base-main')))
    if (kind === 'WorkloadRegistration') add(spec.workload, join(directory, 'workloads', metadata.name));
  return maps;
};

// The shape of every object in the cases, as far as it is looked at here.
type Folder = { repo: string; branch: string; path: string };
type CaseObject = {
  kind: string;
  metadata: { name: string };
  spec: Folder & { controlPlane: Folder; workload: Folder };
};

const objectsIn = async (directory: string): Promise<readonly CaseObject[]> => {
  const files = (await readdir(directory, { recursive: true })).filter((file) => file.endsWith('.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as CaseObject));
};
