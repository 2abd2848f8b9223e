import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parsePlatform } from '../../model/location.ts';
import { readDocument } from '../yaml/edit-document.ts';
import { writeObject } from '../../model/yaml/write-object.ts';
import { chooseLayer } from './choose-layer.ts';
import type { Layer } from './layer.ts';
import { planChange, type PlannedEdit } from './plan-edit.ts';

/** An environment as fleet.yaml has it. */
export type Entry = {
  readonly name: string;
  readonly promotedFrom?: string | undefined;
  /** Other fields; loading the edited platform judges them. */
  readonly [field: string]: unknown;
};

/** One more environment in fleet.yaml, behind the others. @throws FleetError NAME_CLASH if the fleet has it already */
export const planFleetEnvironment = (layers: readonly Layer[], entry: Entry): PlannedEdit => {
  const { name } = entry;
  const root = chooseLayer(layers, 'Environment', undefined);
  const fleet = root.objects.find(({ kind }) => kind === 'Fleet');
  const text = root.files.find(({ path }) => path === fleet?.file)?.bytes.toString();
  if (!fleet || text === undefined)
    throw new FleetError('PLATFORM_INVALID', 'the platform has no Fleet in fleet.yaml', {
      hint: 'Mend fleet.yaml first: fleet-scheduler validate',
    });
  const { spec } = readDocument(text, fleet) as { readonly spec?: { readonly environments?: unknown } };
  const environments = Array.isArray(spec?.environments) ? (spec.environments as readonly Entry[]) : [];
  if (environments.some((one) => one.name === name))
    throw new FleetError('NAME_CLASH', `the fleet has an environment ${name} already`, {
      subject: `Fleet ${fleet.name}`,
      at: fleet.at,
      hint: 'Choose another name',
    });
  const added = defined({ ...entry });
  const set = [
    [
      ['spec', 'environments'],
      [...environments, added],
    ],
  ] as const;
  const edit = planChange(root, { kind: 'Fleet', name: fleet.name, set });
  return { ...edit, subject: `environment ${name}`, outcome: 'created' };
};

/** The first file of a platform in an empty directory: fleet.yaml with one environment. @throws FleetError USAGE for a repository */
export const planFirst = (platform: string, fleet: string, { name, promotedFrom }: Entry): PlannedEdit => {
  const { location, path } = parsePlatform(platform);
  if (location.kind === 'git')
    throw new FleetError('USAGE', 'the repository holds no platform to add an environment to', {
      hint: 'Begin one in a directory with fleet-scheduler init, and push it',
    });
  const object = {
    apiVersion: 'fleet-ferry/v1alpha1',
    kind: 'Fleet',
    metadata: { name: fleet },
    spec: { environments: [defined({ name, promotedFrom })] },
  };
  const file = {
    path: posix.join(path, 'fleet.yaml'),
    was: undefined,
    bytes: Buffer.from(writeObject(object)),
  };
  return { layer: 'root', location, files: [file], subject: `Fleet ${fleet}`, outcome: 'created' };
};
