import { compareBytes } from '#bundles/digest';
import type { FleetError, Place } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import type { Application } from '../../load/applications/application.ts';
import type { Applications } from '../../load/applications/load-applications.ts';
import type { PlatformApplications } from '../../load/applications/platform-applications.ts';
import type { ImageReference } from '../images/image-lock.ts';
import { imagesInPackage } from './images-in-package.ts';
import type { RenderedPackage } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';
import { imageRules } from '../images/image-rules.ts';

export type References = {
  /** One entry for each repository and tag, sorted. */
  readonly references: readonly ImageReference[];
  /** Images written by digest, 'host/repo@sha256:...', sorted. */
  readonly pinned: readonly ImageReference[];
  /** Errors of files that could not be read, whose images are therefore unknown. */
  readonly problems: readonly FleetError[];
  /** Programs that rendered applications. */
  readonly tools: Applications['tools'];
};

/**
 * Collects every image that manifests and quadlets of these environments name by tag only, from applications and from templates,
 * with the platforms that it runs on.
 */
export const collectReferences = async (
  rendered: AsyncIterable<PlatformApplications>,
  signal: AbortSignal,
): Promise<References> => {
  const found = new Map<string, { image: string; at: Place; platforms: Set<string> }>();
  const problems: FleetError[] = [];
  const used = new Map<string, Applications['tools'][number]>();
  for await (const { platform, packages, held, applications } of rendered) {
    const rules = imageRules(platform.imageFields);
    problems.push(...held);
    for (const tool of applications.tools) used.set(tool.name, tool);
    for (const one of packages) {
      signal.throwIfAborted();
      const { clusterType } = one.assignment;
      const application = applicationOrTell(applications, one, problems);
      for (const { image, at } of imagesInPackage(one, application, rules, problems)) {
        const key = normaliseImageName(image);
        const known = found.get(key) ?? { image, at, platforms: new Set() };
        for (const name of clusterType.platforms) known.platforms.add(name);
        found.set(key, known);
      }
    }
  }
  const all = [...found]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([key, it]) => ({ ...it, key, platforms: [...it.platforms].toSorted(compareBytes) }));
  return {
    references: all.filter(({ key }) => !key.includes('@')).map(({ key: _, ...it }) => it),
    pinned: all.filter(({ key }) => key.includes('@')).map(({ key, ...it }) => ({ ...it, image: key })),
    problems,
    tools: [...used.values()],
  };
};

const applicationOrTell = (
  applications: Applications,
  rendered: RenderedPackage,
  problems: FleetError[],
): Application | undefined => {
  try {
    return applications.of(rendered);
  } catch (error) {
    problems.push(toMistake(error));
    return undefined;
  }
};
