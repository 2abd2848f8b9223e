import { FleetError, type Place } from '#bundles/errors';
import { isManifest } from '#bundles/formats/bundle/is-manifest';
import { type Application, showFile } from '../../load/applications/application.ts';
import { findImages } from '../images/find-images.ts';
import type { ImageRules } from '../images/image-rules.ts';
import { hostPackagesOf } from '../content/host-packages.ts';
import { pinQuadlet } from '../content/quadlets/pin-quadlet.ts';
import type { RenderedPackage } from '../../model/model.ts';
import { imagesOfCharts } from '../images/images-of-charts.ts';
import { readKubernetesObjects } from '../../model/kubernetes/kubernetes-object.ts';
import { sopsMac } from '../../model/kubernetes/sops-mac.ts';

type NamedImage = { readonly image: string; readonly at: Place };

/**
 * Returns every image that a package names, as written and with its place: in manifests of templates, of the application and of its
 * charts, or in quadlets of a host.
 */
export const imagesInPackage = (
  rendered: RenderedPackage,
  application: Application | undefined,
  rules: ImageRules,
  problems: FleetError[],
): readonly NamedImage[] => {
  switch (rendered.assignment.clusterType.target) {
    case 'kubernetes':
      return imagesInManifests(rendered, application, rules, problems);
    case 'host':
      return application ? imagesInQuadlets(rendered, application, problems) : [];
  }
};

const imagesInQuadlets = (
  rendered: RenderedPackage,
  application: Application,
  problems: FleetError[],
): readonly NamedImage[] => {
  const images: NamedImage[] = [];
  try {
    for (const file of hostPackagesOf(rendered, application).all.flatMap(({ files }) => files)) {
      const bytes =
        file.content === undefined ? application.files.get(file.source ?? '') : Buffer.from(file.content);
      if (!bytes) continue;
      pinQuadlet(file, application, bytes, (image, at) => {
        images.push({ image, at });
        return image;
      });
    }
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    problems.push(error);
  }
  return images;
};

const imagesInManifests = (
  rendered: RenderedPackage,
  application: Application | undefined,
  rules: ImageRules,
  problems: FleetError[],
): readonly NamedImage[] => [
  ...filesOf(rendered, application).flatMap(([file, content]) =>
    readKubernetesObjects(file, content, problems).flatMap((object) => {
      if (sopsMac(object) !== undefined) return [];
      const found = findImages(object, rules);
      problems.push(...found.problems);
      return found.images;
    }),
  ),
  ...imagesOfCharts(application, rules),
];

/** Files that may hold objects, as messages name them. */
const filesOf = (
  { assignment, files }: RenderedPackage,
  application: Application | undefined,
): readonly (readonly [string, Buffer | string])[] => [
  ...files
    .filter(({ path }) => isManifest(path))
    .map(({ path, text }) => [`${assignment.target.name}/${path}`, text] as const),
  ...(application ? [...application.files].map(([path, bytes]) => ({ application, path, bytes })) : [])
    .filter(({ path }) => isManifest(path))
    .map((one) => [showFile(one.application, one.path), one.bytes] as const),
];
