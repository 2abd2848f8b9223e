import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PlatformForm } from '../../scheduler/model/model.ts';
import type { DirectoryMap } from '../../scheduler/model/location.ts';
import { fleetFiles } from './fleet-form.ts';
import type { FleetSize } from './fleet-size.ts';
import { kalypsoFiles } from './kalypso-form.ts';

/** A generated fleet on disk, and the configuration that reads it. */
export type GeneratedFleet = {
  readonly platform: string;
  readonly environment: string;
  readonly maps: readonly DirectoryMap[];
  /** One value of a configuration of one cluster type, of a region and of one workload. */
  readonly edits: readonly Edit[];
};

/** Replaces one text in a file. */
export type Edit = {
  readonly name: string;
  readonly path: string;
  readonly from: string;
  readonly to: string;
};

/**
 * Writes a fleet of a given size in one of the two forms: workloads with an owner, labels and manifests of their own,
 * cluster types with labels, policies, a schema, and configuration of all kinds that overlaps. The same size gives the
 * same files.
 */
export const makeFleet = async (
  directory: string,
  form: PlatformForm,
  size: FleetSize,
): Promise<GeneratedFleet> => {
  const { files, ...fleet } = form === 'fleet' ? fleetFiles(size) : kalypsoFiles(size);
  for (const [path, text] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  return {
    platform: join(directory, fleet.platform),
    environment: 'prod',
    maps: fleet.maps.map((map) => ({ ...map, directory: join(directory, map.directory) })),
    edits: EDITS.map(({ config, ...edit }) => ({
      ...edit,
      path: join(directory, fleet.configs, `${config}.yaml`),
    })),
  };
};

const EDITS = [
  { name: 'of a cluster type', config: 'c50-type-0', from: 'vpn-0', to: 'vpn-9' },
  { name: 'of a region', config: 'c20-region-1', from: 'Etc/GMT-1', to: 'Etc/UTC' },
  { name: 'of a workload', config: 'c60-app-0', from: '"2"', to: '"7"' },
] as const;
