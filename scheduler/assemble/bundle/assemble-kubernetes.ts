import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isManifest } from '#bundles/formats/bundle/is-manifest';
import { type Application, showFile } from '../../load/applications/application.ts';
import { type ImageRules, imageRules } from '../images/image-rules.ts';
import type { Assignment, ClusterType, RenderedFile, RenderedPackage } from '../../model/model.ts';
import { throwProblems } from '../../model/problems.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
import { imagesOfCharts } from '../images/images-of-charts.ts';
import { pinImage } from '../images/pin-image.ts';
import { identityOf, prepareManifest } from './prepare-manifest.ts';
import { placeSiteInputs } from './place-site-inputs.ts';
import { checkSiteValues } from './check-site-values.ts';
import type { ManifestCache, ManifestJudge, PreparedObject } from './prepared-manifest.ts';
import { isPartOfPackage, isPlaybook } from '../../model/reconciler-traits.ts';
import { findSplitDocuments, withoutNamespace } from './secret-documents.ts';
import { boundsOf, kubernetesBoundsOf, type ObjectBounds, UNBOUNDED } from './tenancy.ts';

/** Folder of the application's own objects inside the package. */
export const MANIFESTS = 'manifests/';

/**
 * Assembles the package of a cluster: the platform's rendered files and the application's objects, in the assignment's
 * namespace and with pinned images, and a kustomization.yaml that names all of them, for Flux and Argo CD.
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID, IMAGE_UNPINNED, PULL_POLICY, OBJECT_CLASH ... with file:line:column
 */
export const assembleKubernetes = (
  rendered: RenderedPackage,
  application: Application | undefined,
  imageLocks: ReadonlyMap<string, string>,
  cache: ManifestCache = new Map(),
  judge?: ManifestJudge,
  rules: ImageRules = imageRules(),
): AssembledPackage => {
  const { assignment, namespace } = rendered;
  const { offline } = assignment.clusterType;
  const problems: FleetError[] = [];
  const prepared = (shown: string, path: string, content: Buffer | string, bounds: ObjectBounds) => {
    const isChosen = assignment.target.namespace !== undefined;
    const input = { shown, content, namespace, isChosen, offline, imageLocks, rules, judge, bounds };
    return { path, made: prepareManifest(input, cache, problems) };
  };
  const bounds = boundsOf(assignment.target);
  const holdsObjects = (file: RenderedFile): boolean =>
    isYaml(file.path) &&
    !isPlaybook(file.text) &&
    (file.path !== 'reconciler.yaml' || isPartOfPackage(assignment.clusterType.reconciler));
  // A rendered file writes its text at each access.
  const own = Map.groupBy(
    rendered.files.map(({ path, text }) => ({ path, text })),
    holdsObjects,
  );
  const all = [
    ...withConfig(assignment, own.get(true) ?? []).map((file) =>
      withTemplate(assignment, file.path, problems, () =>
        prepared(`${assignment.target.name}/${file.path}`, file.path, file.text, UNBOUNDED),
      ),
    ),
    ...(application ? [...application.files].map(([path, bytes]) => ({ application, path, bytes })) : [])
      .filter(({ path }) => isManifest(path) && !isSopsRules(path))
      .map((one) => prepared(showFile(one.application, one.path), MANIFESTS + one.path, one.bytes, bounds)),
  ];
  const files = all.filter(({ made }) => made.owns.length > 0);
  const emptyFiles = all.flatMap(({ path, made }) =>
    path.startsWith(MANIFESTS) && made.owns.length === 0 ? [path.slice(MANIFESTS.length)] : [],
  );
  const owns = files.flatMap(({ made }) => made.owns);
  const clashes =
    new Set(owns).size < owns.length
      ? clashesOf(
          files.flatMap(({ made }) => made.objects()),
          namespace,
        )
      : [];
  const platforms = files
    .filter(({ path }) => !path.startsWith(MANIFESTS))
    .flatMap(({ made }) => made.secrets?.filled ?? []);
  const charts = pinCharts(application, rules, imageLocks, problems);
  const secrets = files.flatMap(({ made }) => made.secrets ?? []);
  const encrypted = secrets.flatMap((one) => one.encrypted);
  throwProblems(
    [...problems, ...clashes, ...findSplitDocuments(encrypted)],
    `package ${assignment.target.name}`,
  );
  const placed = placeSiteInputs(
    assignment.target,
    files.map(({ path, made }) => ({ path, made, own: path.startsWith(MANIFESTS) })),
    judge,
  );
  const read = assignment.target.siteInputs ?? [];
  checkSiteValues(read, assignment.target);
  const list = kustomization(
    files.map(({ path }) => path),
    namespace,
    withoutNamespace(encrypted),
  );
  const images = [...new Set([...files.flatMap(({ made }) => made.images), ...charts])];
  return assembled({
    assignment,
    id: assignment.target.name,
    namespace,
    files: [
      ...files.map(({ path, made }) => ({ path, bytes: made.text })),
      ...(own.get(false) ?? []).map(({ path, text }) => ({ path, bytes: text })),
      { path: 'kustomization.yaml', bytes: list },
    ],
    ...placed,
    owns,
    images,
    unknown: files.flatMap((file) => file.made.unknown),
    // What a template of the platform fetches is the platform's own decision.
    suspects: files.flatMap(({ path, made }) =>
      (made.suspects ?? []).filter(({ code }) => path.startsWith(MANIFESTS) || code !== 'CONTENT_UNJUDGED'),
    ),
    ...defined({
      needsSecrets: secrets.some((one) => one.encrypted.length + one.filled.length > 0) ? true : undefined,
    }),
    plainSecrets: secrets.flatMap(({ plain }) => plain),
    bounds: kubernetesBoundsOf(assignment.target, namespace, platforms),
    ...defined({
      reads:
        read.length > 0 && assignment.target.registration !== undefined
          ? read.map(({ name }) => name)
          : undefined,
      emptyFiles: emptyFiles.length > 0 ? emptyFiles : undefined,
    }),
  });
};

/** With siteConfig the ConfigMap of the configuration is there even if the platform has no value for it. */
const withConfig = (
  { target, clusterType }: Assignment,
  rendered: readonly { readonly path: string; readonly text: string }[],
): typeof rendered =>
  target.siteConfig === true &&
  clusterType.configType === 'configmap' &&
  !rendered.some(({ path }) => path.startsWith('platform-config.'))
    ? [
        ...rendered,
        {
          path: 'platform-config.yaml',
          text: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: platform-config\ndata: {}\n',
        },
      ]
    : rendered;

/** Images that operators start: named by charts, but not by objects. */
const pinCharts = (
  application: Application | undefined,
  rules: ImageRules,
  locks: ReadonlyMap<string, string>,
  problems: FleetError[],
): readonly string[] =>
  imagesOfCharts(application, rules).flatMap(({ image, at }) => {
    try {
      return [pinImage(image, locks, at)];
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error);
      return [];
    }
  });

/** A rendered file is not on disk, so that errors in it name the template, too. */
const withTemplate = <T>(
  { clusterType }: Assignment,
  path: string,
  problems: FleetError[],
  read: () => T,
): T => {
  const before = problems.length;
  const result = read();
  if (problems.length === before) return result;
  const template = templateOf(path, clusterType);
  const found = problems.splice(before).map(
    ({ code, message, subject, at, hint, cause }) =>
      new FleetError(code, message, {
        subject: `${subject === undefined ? 'what' : `${subject}, as`} Template ${template} wrote${subject === undefined ? '' : ' it'}`,
        at,
        hint,
        cause,
      }),
  );
  problems.push(...found);
  return result;
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);
/** Recognises .sops.yaml, the creation rules of SOPS, which is not a manifest. */
const isSopsRules = (path: string): boolean => /(^|\/)\.sops\.ya?ml$/.test(path);

/** Errors for objects of a package with the same identity: the result would depend on their order. */
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

/**
 * The kustomization.yaml of a folder.
 * @param placed encrypted objects, whose bytes must not change: kustomize sets their namespace
 * by a JSON patch, as a merge patch sets none (findings/kustomize-merge-patches-set-no-namespace.sh)
 */
export const kustomization = (
  resources: readonly string[],
  namespace = '',
  placed: readonly PreparedObject[] = [],
): string =>
  [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    resources.length === 0 ? 'resources: []' : 'resources:',
    ...resources.toSorted().map((path) => `  - ${JSON.stringify(path)}`),
    ...(placed.length === 0 ? [] : ['patches:']),
    ...placed.flatMap(({ kind, name }) => [
      `  - target: {kind: ${JSON.stringify(kind)}, name: ${JSON.stringify(name)}}`,
      '    patch: |-',
      `      [{"op": "add", "path": "/metadata/namespace", "value": ${JSON.stringify(namespace)}}]`,
    ]),
    '',
  ].join('\n');

const templateOf = (path: string, { namespaceService, reconciler, configType }: ClusterType) => {
  if (path.startsWith('namespace.')) return namespaceService;
  return path.startsWith('reconciler.') ? reconciler : configType;
};
