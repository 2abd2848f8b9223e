import { isDeepStrictEqual } from 'node:util';
import { digestOf } from '#bundles/digest';
import type { Application } from '../../load/applications/application.ts';
import type { ManifestCache } from '../bundle/prepared-manifest.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import type { DefinitionFile } from '../../plan/validate/kubernetes/custom-kinds.ts';
import type { EnvironmentMemory } from './build-memory.ts';
import { isSameApplication } from './intern-platform.ts';

/**
 * Prepares the memory for this platform. If the inputs of all manifests changed (image locks and fields, definitions of kinds),
 * all earlier results are dropped.
 */
export const startBuild = (
  memory: EnvironmentMemory,
  platform: Platform,
  definitions: readonly DefinitionFile[],
): ManifestCache => {
  const digest = digestOf(definitions.map(({ shown, bytes }) => `${shown}\0${digestOf(bytes)}`).join('\n'));
  const { imageLocks, imageFields } = memory.platform ?? {};
  if (
    imageLocks !== platform.imageLocks ||
    !isDeepStrictEqual(imageFields, platform.imageFields) ||
    memory.definitions !== digest
  ) {
    memory.manifests = new Map();
    memory.bundles = new Map();
  }
  // They affect bundles, but not manifests.
  if (!isDeepStrictEqual(memory.platform?.imagePolicies, platform.imagePolicies)) memory.bundles = new Map();
  if (!isDeepStrictEqual(memory.platform?.contentLocks, platform.contentLocks)) memory.bundles = new Map();
  const names = new Set(platform.clusterTypes.map(({ name }) => name));
  for (const name of memory.bundles.keys()) if (!names.has(name)) memory.bundles.delete(name);
  memory.definitions = digest;
  memory.platform = platform;
  return memory.manifests;
};

/** Unchanged applications become the previous objects, with identical bytes. */
export const internApplications = (
  memory: EnvironmentMemory,
  applicationOf: (rendered: RenderedPackage) => Application | undefined,
): typeof applicationOf => {
  const known = new Map<Application, Application>();
  const next = new Map<string, Application>();
  const before = memory.applications;
  memory.applications = next;
  const intern = (application: Application): Application => {
    const same = known.get(application);
    if (same) return same;
    const old = before.get(application.shown);
    const one = old && isSameApplication(old, application) ? old : application;
    known.set(application, one);
    next.set(application.shown, one);
    return one;
  };
  return (rendered) => {
    const application = applicationOf(rendered);
    return application && intern(application);
  };
};
