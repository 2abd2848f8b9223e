import { compareBytes } from '#bundles/digest';
import { type FleetError, isFleetError, type Place, toFleetError } from '#bundles/errors';
import type { Application } from '../bundle/application.ts';
import { containersOf, readKubernetesObjects } from '../bundle/kubernetes-object.ts';
import { normaliseImage } from '../bundle/pin-image.ts';
import { bundlesApplication, readApplication } from '../bundle/read-application.ts';
import type { DeploymentTarget, Platform, RenderedPackage } from '../platform/model.ts';
import type { Sources } from '../platform/sources/open-sources.ts';
import { renderPlatform } from '../render/render-platform.ts';
import { schedulePlatform } from '../schedule/schedule-platform.ts';

/** An image that manifests name by a tag. */
export type ImageReference = {
  /** As the first manifest writes it: 'nginx:1.27'. */
  readonly image: string;
  /** Where that manifest does. */
  readonly at: Place;
  /** Platforms of all cluster types that run it, sorted; none said: as the registry has it. */
  readonly platforms: readonly string[];
};

export type References = {
  /** One for each repository and tag, sorted. */
  readonly references: readonly ImageReference[];
  /** What could not be read: images in there are not known. */
  readonly problems: readonly FleetError[];
};

/** 'docker.io/library/nginx:1.27', whatever it was written like. */
export const fullReference = (image: string): string => {
  const { repository, tag } = normaliseImage(image);
  return `${repository}:${tag ?? 'latest'}`;
};

/**
 * Every image that the manifests of these environments name by tag alone, those of applications and those that templates
 * write, with the platforms they are to run on.
 */
export const collectReferences = async (
  platforms: readonly Platform[],
  sources: Sources,
  signal: AbortSignal,
): Promise<References> => {
  const found = new Map<string, { image: string; at: Place; platforms: Set<string> }>();
  const problems: FleetError[] = [];
  for (const platform of platforms) {
    const { packages, held } = renderPlatform(platform, schedulePlatform(platform));
    problems.push(...held.map(({ error }) => error));
    const applications = new Map<DeploymentTarget, Application | undefined>();
    for (const rendered of packages) {
      signal.throwIfAborted();
      const { target, clusterType } = rendered.assignment;
      if (clusterType.target !== 'kubernetes') continue;
      if (bundlesApplication(clusterType) && !applications.has(target))
        applications.set(target, await readOrTell(sources, platform, target, problems));
      const files = filesOf(rendered, applications.get(target));
      for (const { image, at } of files.flatMap(([file, bytes]) => imagesIn(file, bytes, problems))) {
        if (normaliseImage(image).digest !== undefined) continue;
        const key = fullReference(image);
        const known = found.get(key) ?? { image, at, platforms: new Set() };
        for (const one of clusterType.platforms) known.platforms.add(one);
        found.set(key, known);
      }
    }
  }
  return {
    references: [...found]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([, it]) => ({ ...it, platforms: [...it.platforms].toSorted(compareBytes) })),
    problems,
  };
};

const readOrTell = async (
  sources: Sources,
  platform: Platform,
  target: DeploymentTarget,
  problems: FleetError[],
): Promise<Application | undefined> => {
  try {
    return (await readApplication(sources, platform, target)).application;
  } catch (error) {
    const known = toFleetError(error, `reading the files of ${target.name}`);
    if (isFleetError(known, 'INTERNAL') || isFleetError(known, 'ABORTED')) throw known;
    problems.push(known);
    return undefined;
  }
};

const filesOf = (
  { assignment, files }: RenderedPackage,
  application: Application | undefined,
): readonly (readonly [string, Buffer])[] =>
  [
    ...files.map(({ path, bytes }) => [`${assignment.target.name}/${path}`, bytes] as const),
    ...[...(application?.files ?? [])].map(
      ([path, bytes]) => [`${application?.shown}${path}`, bytes] as const,
    ),
  ].filter(([path]) => /\.ya?ml$/.test(path) && !/(^|\/)kustomization\.ya?ml$/.test(path));

const imagesIn = (file: string, bytes: Buffer, problems: FleetError[]) =>
  readKubernetesObjects(file, bytes, problems).flatMap((object) => containersOf(object));
