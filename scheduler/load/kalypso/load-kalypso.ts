import { FleetError } from '#bundles/errors';
import { combineSources, type Part } from '../platform/combine-sources.ts';
import type { LoadOptions } from '../platform/load-options.ts';
import type { Labels, Platform } from '../../model/model.ts';
import { didYouMean } from '#bundles/nearest-name';
import { type ObjectOf, ofKind, type RepositoryFolder } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import { collectProblems, type Problems } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import type { Source, Sources } from '../sources/open-sources.ts';
import type { KalypsoRoot } from './find-environments.ts';

/** The sources that deliver into one environment: its branch first, then the base repositories that it or they name. */
export type KalypsoParts = {
  readonly environment: ObjectOf<'Environment'>;
  readonly parts: readonly Part[];
};

/**
 * Reads an environment's branch and the base repositories it names (behaviour.md section 1, "How objects travel").
 * @returns undefined when the branch cannot be read: the reason is in `problems`
 * @throws FleetError PLATFORM_INVALID when there is no such environment
 */
export const readKalypsoParts = async (
  name: string,
  sources: Sources,
  root: KalypsoRoot,
  problems: Problems,
): Promise<KalypsoParts | undefined> => {
  const environment = root.environments.find((one) => one.name === name);
  if (!environment) throw unknownEnvironment(name, root);
  const read = async (role: string, folder: RepositoryFolder, named: ObjectOf<'Environment' | 'BaseRepo'>) =>
    collectProblems(problems, async () => {
      try {
        return await sources.read({
          role,
          location: sources.locate(folder.repo, folder.revision),
          path: folder.path,
        });
      } catch (error) {
        throw standingAt(error, named);
      }
    });
  const branch = await read(`environment/${environment.name}`, environment.controlPlane, environment);
  if (!branch) return undefined;
  const parts: Part[] = [toPart(branch, 'environment', problems, deliveryLabels(environment.name))];
  const seen = new Set<string>();
  // A base repository may name others; all deliver into the same environment.
  for (const part of parts) {
    for (const base of ofKind(part.objects, 'BaseRepo')) {
      if (seen.has(base.name)) continue;
      seen.add(base.name);
      const source = await read(`base/${base.name}`, base.folder, base);
      const labels = deliveryLabels(`${environment.name}-${base.name}`);
      if (source) parts.push(toPart(source, 'base', problems, labels));
    }
  }
  return { environment, parts };
};

/** Stands for the fleet, which a control plane does not name, where nothing is signed: in comparisons and validation. */
const UNNAMED = 'unnamed';

/** Loads one environment of a Kalypso control plane, with the applications that any of its repositories registers. */
export const loadKalypso = async (
  options: LoadOptions,
  sources: Sources,
  root: KalypsoRoot,
  problems: Problems,
): Promise<Platform | undefined> => {
  const read = await readKalypsoParts(options.environment, sources, root, problems);
  if (!read) return undefined;
  const { environment, parts } = read;
  return await combineSources({
    form: 'kalypso',
    fleet: options.fleet ?? UNNAMED,
    environment: environment.name,
    chain: [environment.name],
    parts,
    snapshots: [root.source.snapshot, ...parts.map((part) => part.source.snapshot)],
    replaces: false,
    holdWorkloads: options.holdWorkloads === true,
    sources,
    problems,
    imageLocks: options.imageLocks,
    imageIndexes: options.imageIndexes,
    contentLocks: options.contentLocks,
    renderers: options.renderers,
    imageAttachments: options.imageAttachments,
    locateWorkload: (folder) => ({
      location: sources.locate(folder.repo, folder.revision),
      path: folder.path,
    }),
    registrationLabels: (registration) => deliveryLabels(`${environment.name}-${registration.name}`),
  });
};

/** The labels that Flux adds to what a Kustomization of this name delivers. Templates see them in `.Labels`. */
const deliveryLabels = (kustomization: string): Labels => ({
  'kustomize.toolkit.fluxcd.io/name': kustomization,
  'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
});

const toPart = (source: Source, from: Part['from'], problems: Problems, labels: Labels): Part => ({
  source,
  from,
  // An Environment among an environment's own objects is ignored.
  objects: readObjects(source, problems.found).filter((object) => object.kind !== 'Environment'),
  deliveryLabels: labels,
});

const unknownEnvironment = (name: string, root: KalypsoRoot): FleetError => {
  const names = root.environments.map((one) => one.name).toSorted();
  return new FleetError('PLATFORM_INVALID', `the platform has no environment ${JSON.stringify(name)}`, {
    hint: `${didYouMean(name, names) ?? ''}It has ${names.join(', ')}`,
  });
};

/** An unreadable repository is reported at the object that names it. */
const standingAt = (error: unknown, object: ObjectOf<'Environment' | 'BaseRepo'>): unknown =>
  error instanceof FleetError ? withPlace(error, object.at, `${object.kind} ${object.name}`) : error;
