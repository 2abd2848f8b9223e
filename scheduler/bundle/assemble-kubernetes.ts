import { FleetError } from '#bundles/errors';
import type { RenderedPackage } from '../platform/model.ts';
import { throwProblems } from '../platform/problems.ts';
import type { Application } from './application.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
import {
  containersOf,
  formatObjects,
  isClusterScoped,
  type KubernetesObject,
  readKubernetesObjects,
  stampNamespace,
} from './kubernetes-object.ts';
import { pinImage } from './pin-image.ts';

/** Folder of the application's own objects inside the package. */
const MANIFESTS = 'manifests/';

/**
 * The package of a cluster: the platform's rendered files and the application's objects, each in the assignment's
 * namespace and with its images pinned, and a kustomization.yaml that names them all, for agents that are not ours.
 * @throws FleetError YAML_SYNTAX, IMAGE_UNPINNED, PULL_POLICY, OBJECT_CLASH ... with file:line:column
 */
export const assembleKubernetes = (
  rendered: RenderedPackage,
  application: Application | undefined,
  imageLocks: ReadonlyMap<string, string>,
): AssembledPackage => {
  const { assignment, namespace } = rendered;
  const problems: FleetError[] = [];
  const images = new Set<string>();
  const read = (
    shown: string,
    path: string,
    bytes: Buffer,
  ): { path: string; objects: readonly KubernetesObject[] } => ({
    path,
    objects: readKubernetesObjects(shown, bytes, problems),
  });
  const files = [
    ...rendered.files
      .filter(({ path }) => isYaml(path))
      .map(({ path, bytes }) => read(`${assignment.target.name}/${path}`, path, bytes)),
    ...[...(application?.files ?? [])]
      .filter(([path]) => isYaml(path) && !isKustomization(path))
      .map(([path, bytes]) => read(`${application?.shown}${path}`, MANIFESTS + path, bytes)),
  ].filter(({ objects }) => objects.length > 0);
  const all = files.flatMap(({ objects }) => objects);
  for (const object of all) {
    stampNamespace(object, namespace);
    pinContainers(object, assignment.clusterType.offline, imageLocks, images, problems);
  }
  throwProblems([...problems, ...clashesOf(all, namespace)], `package ${assignment.target.name}`);
  const other = rendered.files.filter(({ path }) => !isYaml(path));
  return assembled({
    assignment,
    id: assignment.target.name,
    namespace,
    files: [
      ...files.map(({ path, objects }) => ({ path, bytes: formatObjects(objects) })),
      ...other,
      { path: 'kustomization.yaml', bytes: kustomization(files.map(({ path }) => path)) },
    ],
    siteInputs: [],
    owns: all.map((object) => identityOf(object, namespace)),
    images: [...images],
  });
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);
const isKustomization = (path: string): boolean => /(^|\/)kustomization\.ya?ml$/.test(path);

const pinContainers = (
  object: KubernetesObject,
  offline: boolean,
  locks: ReadonlyMap<string, string>,
  images: Set<string>,
  problems: FleetError[],
): void => {
  for (const { container, image, at, pullPolicy } of containersOf(object)) {
    const subject = `${object.kind} ${object.name}`;
    if (offline && pullPolicy === 'Always') {
      problems.push(
        new FleetError(
          'PULL_POLICY',
          `${image} is pulled at every start, but this cluster type lives offline`,
          {
            subject,
            at,
            hint: 'Use imagePullPolicy: IfNotPresent',
          },
        ),
      );
    }
    try {
      const pinned = pinImage(image, locks, at);
      images.add(pinned);
      container.set('image', pinned);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error);
    }
  }
};

/** Group, kind, namespace and name, as the API server tells objects apart; the version does not count. */
const identityOf = (object: KubernetesObject, namespace: string): string => {
  const [group] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
  const place = isClusterScoped(object.kind) ? '' : `${object.namespace ?? namespace}/`;
  return `${object.kind}${group ? `.${group}` : ''} ${place}${object.name}`;
};

/** Two objects of one identity in a package: which one would live would depend on the order. */
const clashesOf = (objects: readonly KubernetesObject[], namespace: string): readonly FleetError[] => {
  const seen = new Map<string, KubernetesObject>();
  return objects.flatMap((object) => {
    const key = identityOf(object, namespace);
    const first = seen.get(key);
    seen.set(key, object);
    if (!first) return [];
    return [
      new FleetError(
        'OBJECT_CLASH',
        `${object.kind} ${object.name} is there twice: here and in ${first.at.file}:${first.at.line}`,
        {
          at: object.at,
          hint: 'Remove or rename one of them',
        },
      ),
    ];
  });
};

/** The files of a folder, as kustomize, Flux and Argo CD want them listed. */
export const kustomization = (resources: readonly string[]): Buffer =>
  Buffer.from(
    [
      'apiVersion: kustomize.config.k8s.io/v1beta1',
      'kind: Kustomization',
      resources.length === 0 ? 'resources: []' : 'resources:',
      ...resources.toSorted().map((path) => `  - ${JSON.stringify(path)}`),
      '',
    ].join('\n'),
  );
