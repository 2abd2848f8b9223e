import { FleetError } from '#bundles/errors';
import type { Assignment, RenderedPackage } from '../platform/model.ts';
import { throwProblems } from '../platform/problems.ts';
import type { Application } from './application.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
import { isClusterScoped } from './kubernetes-object.ts';
import { type ManifestCache, type PreparedObject, prepareManifest } from './prepare-manifest.ts';

/** Folder of the application's own objects inside the package. */
const MANIFESTS = 'manifests/';

/**
 * The package of a cluster: the platform's rendered files and the application's objects, each in the assignment's
 * namespace and with its images pinned, and a kustomization.yaml that names them all, for agents that are not ours.
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID, IMAGE_UNPINNED, PULL_POLICY, OBJECT_CLASH ... with file:line:column
 */
export const assembleKubernetes = (
  rendered: RenderedPackage,
  application: Application | undefined,
  imageLocks: ReadonlyMap<string, string>,
  cache: ManifestCache = new Map(),
): AssembledPackage => {
  const { assignment, namespace } = rendered;
  const { offline } = assignment.clusterType;
  const problems: FleetError[] = [];
  const read = (shown: string, path: string, bytes: Buffer) => ({
    path,
    ...prepareManifest({ shown, bytes, namespace, offline, imageLocks }, cache, problems),
  });
  const files = [
    ...rendered.files
      .filter(({ path }) => isYaml(path))
      .map(({ path, bytes }) =>
        withTemplate(assignment, path, problems, () =>
          read(`${assignment.target.name}/${path}`, path, bytes),
        ),
      ),
    ...[...(application?.files ?? [])]
      .filter(([path]) => isYaml(path) && !isKustomization(path))
      .map(([path, bytes]) => read(`${application?.shown}${path}`, MANIFESTS + path, bytes)),
  ].filter(({ objects }) => objects.length > 0);
  const all = files.flatMap(({ objects }) => objects);
  throwProblems([...problems, ...clashesOf(all, namespace)], `package ${assignment.target.name}`);
  const other = rendered.files.filter(({ path }) => !isYaml(path));
  return assembled({
    assignment,
    id: assignment.target.name,
    namespace,
    files: [
      ...files.map(({ path, text }) => ({ path, bytes: Buffer.from(text) })),
      ...other,
      { path: 'kustomization.yaml', bytes: kustomization(files.map(({ path }) => path)) },
    ],
    siteInputs: [],
    owns: all.map((object) => identityOf(object, namespace)),
    images: [...new Set(files.flatMap(({ images }) => images))],
  });
};

/** The file that a mistake of a rendered text is in lies on no disk: the template that wrote it has to be named. */
const withTemplate = <T>(
  { clusterType }: Assignment,
  path: string,
  problems: FleetError[],
  read: () => T,
): T => {
  const before = problems.length;
  const result = read();
  const template = path.startsWith('namespace.')
    ? clusterType.namespaceService
    : path.startsWith('reconciler.')
      ? clusterType.reconciler
      : clusterType.configType;
  const found = problems
    .splice(before)
    .map(
      ({ code, message, at, hint, cause }) =>
        new FleetError(code, message, { subject: `what Template ${template} wrote`, at, hint, cause }),
    );
  problems.push(...found);
  return result;
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);
const isKustomization = (path: string): boolean => /(^|\/)kustomization\.ya?ml$/.test(path);

/** Group, kind, namespace and name, as the API server tells objects apart; the version does not count. */
const identityOf = (object: PreparedObject, namespace: string): string => {
  const [group] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
  const place = isClusterScoped(object.kind) ? '' : `${object.namespace ?? namespace}/`;
  return `${object.kind}${group ? `.${group}` : ''} ${place}${object.name}`;
};

/** Two objects of one identity in a package: which one would live would depend on the order. */
const clashesOf = (objects: readonly PreparedObject[], namespace: string): readonly FleetError[] => {
  const seen = new Map<string, PreparedObject>();
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
