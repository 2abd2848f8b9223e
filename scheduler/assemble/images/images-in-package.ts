import type { FleetError, Place } from '#bundles/errors';
import { type Application, showFile } from '../../load/applications/application.ts';
import { findImages } from './find-images.ts';
import type { ImageRules } from './image-rules.ts';
import type { RenderedPackage } from '../../model/model.ts';
import { imagesOfCharts } from './images-of-charts.ts';
import { readKubernetesObjects } from '../../model/kubernetes/kubernetes-object.ts';
import { sopsMac } from '../../model/kubernetes/sops-mac.ts';

/**
 * Returns every image that the manifests of a package name, from templates, the application and its charts, as written and with
 * its place.
 */
export const imagesInPackage = (
  rendered: RenderedPackage,
  application: Application | undefined,
  rules: ImageRules,
  problems: FleetError[],
): readonly { readonly image: string; readonly at: Place }[] => [
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
    .filter(({ path }) => mayHoldObjects(path))
    .map(({ path, text }) => [`${assignment.target.name}/${path}`, text] as const),
  ...(application ? [...application.files].map(([path, bytes]) => ({ application, path, bytes })) : [])
    .filter(({ path }) => mayHoldObjects(path))
    .map((one) => [showFile(one.application, one.path), one.bytes] as const),
];

const mayHoldObjects = (path: string): boolean =>
  /\.ya?ml$/.test(path) && !/(^|\/)kustomization\.ya?ml$/.test(path);
