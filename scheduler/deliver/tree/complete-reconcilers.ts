import { createHash } from 'node:crypto';
import { defined } from '#bundles/defined';
import { compareBytes, type Digest, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { type ParsedDocument, parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { isRecord } from '#bundles/is-record';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parse } from 'yaml';
import { toProblem } from '../../model/problems.ts';
import { DEPLOYED, deployedPackage, isPlaybook } from '../../model/reconciler-traits.ts';
import type { Tree } from '../../render/render-tree.ts';
import type { TreeCluster } from '../git/cluster-folder.ts';
import { type Patch, patchesOf } from './object-patches.ts';
import { fieldsOf, type PlacedValues, takesValues, toYaml } from './place-values.ts';

/** The bundle of a cluster, and the files of its packages, which a reconciler that follows the registry does not find in the folder. */
export type FollowedBundle = {
  readonly digest: Digest;
  readonly config: BundleConfig;
  readonly readPackage: (assignment: string) => Promise<Tree>;
};

type Values = Readonly<Record<string, Json>>;
type Manifest = ParsedDocument['value'];

const RECONCILER = 'reconciler.yaml';

/**
 * Gives the reconciler of each assignment in a cluster's folder what it has for one target: patches (Flux and Argo CD from the registry), values of
 * the chart and the labels of one cluster (Rancher Fleet), parameters of the Instance (Symphony), variables (Ansible, Zarf). A held assignment
 * has no files.
 * @param placed the folder with the values in the objects that it has
 */
export const completeReconcilers = async (
  placed: PlacedValues,
  bundle: FollowedBundle,
  cluster: TreeCluster,
): Promise<PlacedValues> => {
  const { config } = bundle;
  const files = new Map(placed.files);
  const held = new Map(placed.held);
  for (const assignment of config.assignments) {
    const path = `${assignment.id}/${RECONCILER}`;
    const text = files.get(path)?.toString('utf8');
    if (text === undefined || held.has(assignment.id)) continue;
    try {
      const fields = takesValues(config, assignment)
        ? await fieldsOf(config, cluster.values, cluster.agent, assignment)
        : [];
      const values: Values = Object.fromEntries(fields.map(({ input, value }) => [input, value]));
      const given: Given = {
        values,
        cluster,
        digest: bundle.digest,
        assignment,
        patches: async () =>
          fields.length === 0 ? [] : patchesOf(await bundle.readPackage(assignment.id), fields),
      };
      if (isPlaybook(text)) {
        if (fields.length === 0) continue;
        const plays = parse(text) as readonly Play[];
        files.set(path, Buffer.from(toYaml(plays.map((play) => withVariables(play, values)))));
        continue;
      }
      const before = parseManifests(new Map([[RECONCILER, Buffer.from(text)]])).map(({ value }) => value);
      const after = await Promise.all(before.map((value) => complete(value, given)));
      if (after.some((one, index) => one !== before[index]))
        files.set(path, Buffer.from(after.map(toYaml).join('---\n')));
      if (fields.length > 0 && before.some(({ kind }) => kind === 'ZarfPackageConfig'))
        files.set(`${assignment.id}/${ZARF_CONFIG}`, Buffer.from(toYaml(zarfConfig(values))));
    } catch (error) {
      held.set(assignment.id, toProblem(error, `giving site values to the reconciler of ${assignment.id}`));
      for (const one of placed.files.keys()) if (one.startsWith(`${assignment.id}/`)) files.delete(one);
    }
  }
  return { files: new Map([...files].toSorted(([a], [b]) => compareBytes(a, b))), held };
};

type Given = {
  readonly values: Values;
  readonly cluster: TreeCluster;
  readonly digest: Digest;
  readonly assignment: BundleConfig['assignments'][number];
  /** For the objects of the bundle, which a reconciler takes from the registry. */
  readonly patches: () => Promise<readonly Patch[]>;
};

/** An object of a reconciler for one cluster; the same one where there is nothing to add. */
const complete = async (value: Manifest, given: Given): Promise<Manifest> => {
  const [group] = String(value['apiVersion']).split('/');
  const { spec } = value as { readonly spec?: Readonly<Record<string, Json>> };
  if (spec === undefined) return value;
  const { values, digest } = given;
  switch (`${group} ${String(value['kind'])}`) {
    case 'source.toolkit.fluxcd.io OCIRepository':
      // The patches are for the objects of this bundle: the tag may already be at the next one.
      return { ...value, spec: { ...spec, ref: { digest } } };
    case 'kustomize.toolkit.fluxcd.io Kustomization': {
      const source = spec['sourceRef'];
      const patches = isRecord(source) && source['kind'] === 'OCIRepository' ? await given.patches() : [];
      return patches.length === 0 ? value : { ...value, spec: { ...spec, patches } };
    }
    case 'argoproj.io Application': {
      const source = spec['source'] as Readonly<Record<string, Json>> | undefined;
      const address = source?.['repoURL'];
      if (typeof address !== 'string' || !address.startsWith('oci://')) return value;
      const patches = await given.patches();
      const kustomize = patches.length === 0 ? {} : { kustomize: { patches } };
      return { ...value, spec: { ...spec, source: { ...source, targetRevision: digest, ...kustomize } } };
    }
    case 'fleet.cattle.io GitRepo':
      return forOneCluster(value, spec, given);
    case 'fleet.cattle.io HelmOp': {
      if (Object.keys(values).length === 0) return forOneCluster(value, spec, given);
      const helm = spec['helm'] as Readonly<Record<string, Json>> | undefined;
      const own = isRecord(helm?.['values']) ? helm['values'] : {};
      return forOneCluster(
        value,
        { ...spec, helm: { ...helm, values: { ...own, siteValues: values } } },
        given,
      );
    }
    case 'solution.symphony Instance': {
      if (Object.keys(values).length === 0) return value;
      const own = isRecord(spec['parameters']) ? spec['parameters'] : {};
      return { ...value, spec: { ...spec, parameters: { ...own, ...asText(values) } } };
    }
    default:
      return value;
  }
};

/** Length that Rancher Fleet leaves a name for what it appends. */
const MAX_NAME = 44;

/** An object of Rancher Fleet's management cluster: the folders of all clusters are applied there, so each has a name and a target of its own. */
const forOneCluster = (
  value: Manifest,
  spec: Readonly<Record<string, Json>>,
  { cluster: { site, agent }, assignment }: Given,
): Manifest => {
  const { metadata } = value as {
    readonly metadata: Readonly<Record<string, Json>> & { readonly name: string };
  };
  // Names that are cut may begin alike.
  const whole = metadata.name.length > MAX_NAME ? ` ${metadata.name}` : '';
  const whose = createHash('sha256').update(`${site}/${agent}${whole}`).digest('hex').slice(0, 8);
  const name = `${metadata.name.slice(0, MAX_NAME).replace(/[-.]+$/, '')}-${whose}`;
  const matchLabels = { 'fleet-ferry/site': site, 'fleet-ferry/agent': agent };
  const targets = [{ name: agent, clusterSelector: { matchLabels } }];
  const labels = {
    ...(metadata['labels'] as Readonly<Record<string, Json>> | undefined),
    [DEPLOYED.namespace]: assignment.namespace ?? assignment.id,
    [DEPLOYED.package]: deployedPackage(assignment.package),
  };
  return {
    ...value,
    metadata: { ...metadata, name, labels },
    spec: { ...spec, ...spreadLabels(value, spec, labels, assignment.package), targets },
  };
};

/** A HelmOp gives its Bundle the labels of its spec, a GitRepo its own, and those only when its job runs again. */
const spreadLabels = (
  { kind }: Manifest,
  { labels: own }: Readonly<Record<string, Json>>,
  labels: Readonly<Record<string, Json>>,
  digest: Digest,
): Readonly<Record<string, Json>> =>
  kind === 'HelmOp'
    ? { labels: { ...(own as Readonly<Record<string, Json>> | undefined), ...labels } }
    : { forceSyncGeneration: Number.parseInt(hexOf(digest).slice(0, 8), 16) };

type Play = Readonly<Record<string, unknown>>;

/** Ansible would read braces in a value as a template of its own. */
const asExpression = (value: Json): string => `{{ '${inBase64(value)}' | b64decode | from_json }}`;

const inBase64 = (value: Json): string => Buffer.from(canonicalJson(value, 'doubles')).toString('base64');

const CONTENT = /^\{\{ '([A-Za-z0-9+/=]*)' \| b64decode \}\}$/;

/** The variable `site_values`: of the plays themselves, and in the file of variables that a play writes for ansible-pull. */
const withVariables = (play: Play, values: Values): Play => {
  const vars = isRecord(play['vars']) ? play['vars'] : {};
  const tasks = Array.isArray(play['tasks'])
    ? play['tasks'].map((task: unknown) => withFile(task, values))
    : undefined;
  return {
    ...play,
    vars: { ...vars, site_values: asExpression(values) },
    ...defined({ tasks }),
  };
};

const withFile = (task: unknown, values: Values): unknown => {
  const copy = isRecord(task) ? task['ansible.builtin.copy'] : undefined;
  if (!isRecord(task) || !isRecord(copy) || !/^\/etc\/fleet-ferry\/[^/]+\.json$/.test(String(copy['dest'])))
    return task;
  const [, encoded] = CONTENT.exec(String(copy['content'])) ?? [];
  if (encoded === undefined) return task;
  const variables = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Values;
  const content = `{{ '${inBase64({ ...variables, site_values: values })}' | b64decode }}`;
  return { ...task, 'ansible.builtin.copy': { ...copy, content } };
};

const ZARF_CONFIG = 'zarf-config.yaml';

const asText = (values: Values): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : canonicalJson(value, 'doubles'),
    ]),
  );

/** Zarf puts a value into the text of rendered objects as it is: these would end the scalar that it is put into, and begin fields of their own. */
const ENDS_SCALAR = /[\p{C}\p{Zl}\p{Zp}'"\\]|:\s|:$|\s#|###/u;

/**
 * Names of Zarf's variables: lineNumber is LINE_NUMBER.
 * @throws FleetError FIELD_INVALID for two values of one name, and for one that Zarf would take for YAML
 */
const zarfConfig = (values: Values): object => {
  const set: Record<string, string> = {};
  for (const [name, text] of Object.entries(asText(values))) {
    const variable = name
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      .replaceAll(/[^A-Za-z0-9_]/g, '_')
      .toUpperCase();
    if (Object.hasOwn(set, variable))
      throw new FleetError('FIELD_INVALID', `two values have the name ${variable} in Zarf`, {
        subject: name,
        hint: 'Rename one of them',
      });
    if (ENDS_SCALAR.test(text))
      throw new FleetError(
        'FIELD_INVALID',
        `the value of ${name} has a line break, a quote, a backslash, ': ', ' #' or '###', which Zarf would put into the objects as YAML`,
        { subject: name, hint: 'Give a value without them, or apply the application by another reconciler' },
      );
    set[variable] = text;
  }
  return { package: { deploy: { set } } };
};
