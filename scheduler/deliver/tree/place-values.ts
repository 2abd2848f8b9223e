import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { hiddenBy } from '#bundles/formats/author-schema/hidden-values';
import { boundsOf } from '#bundles/formats/bounds/bounds-of';
import type { BundleAssignment, BundleConfig } from '#bundles/formats/bundle/config';
import { type ParsedDocument, parseManifests, YAML_OPTIONS } from '#bundles/formats/bundle/parse-manifests';
import { inputViolations } from '#bundles/formats/site-values/input-violations';
import { putInputs } from '#bundles/formats/site-values/put-inputs';
import { type ResolvedInput, resolveInputs } from '#bundles/formats/site-values/resolve-inputs';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { nameSome } from '#bundles/name-some';
import { Document, isScalar, Scalar, visit } from 'yaml';
import { toProblem } from '../../model/problems.ts';
import { isPlaybook } from '../../model/reconciler-traits.ts';
import type { Tree } from '../../render/render-tree.ts';

export type PlacedValues = {
  /** Without those of held assignments. */
  readonly files: Tree;
  /** Why an assignment gets no files, by its name. */
  readonly held: ReadonlyMap<string, FleetError>;
};

/**
 * Puts the values of a site into the files of a cluster's folder, as the agent puts them into the objects of its packages: resolved, judged
 * and fenced by the same functions, because no agent does it there. An assignment with a value that is missing, does not fit, may not go
 * where it goes, or is a secret has no files, and holds back no other.
 * @param files by '<assignment>/<path>'
 * @param config of the bundle with the same content
 */
export const placeValues = async (
  files: Tree,
  config: BundleConfig,
  values: SiteValues,
  agent: string,
): Promise<PlacedValues> => {
  const changed = new Map(files);
  const held = new Map<string, FleetError>();
  for (const assignment of config.assignments) {
    if (!takesValues(config, assignment)) continue;
    const start = `${assignment.id}/`;
    const own = new Map(
      [...files].flatMap(([path, bytes]) =>
        path.startsWith(start) ? [[path.slice(start.length), bytes] as const] : [],
      ),
    );
    if (own.size === 0) continue;
    try {
      const fields = await fieldsOf(config, values, agent, assignment);
      const placed = placeIn(withConfigs(own, config, assignment), fields);
      for (const [path, bytes] of placed) changed.set(start + path, bytes);
    } catch (error) {
      held.set(assignment.id, toProblem(error, `putting site values into ${assignment.id}`));
      for (const path of own.keys()) changed.delete(start + path);
    }
  }
  return { files: new Map([...changed].toSorted(([a], [b]) => compareBytes(a, b))), held };
};

/** Whether an assignment asks for values of the site. */
export const takesValues = (
  { siteInputs: { fields, configs = [] } }: BundleConfig,
  { id }: BundleAssignment,
) => [...fields, ...configs].some(({ assignment }) => assignment === id);

/** The values that an assignment gets, without those that are secrets. @throws FleetError SITE_VALUES, OUT_OF_BOUNDS */
export const fieldsOf = async (
  config: BundleConfig,
  values: SiteValues,
  agent: string,
  assignment: BundleAssignment,
): Promise<readonly ResolvedInput[]> => {
  const { id } = assignment;
  const { schema, fields } = config.siteInputs;
  const resolved = await resolveInputs(config, values, agent, id);
  const isHidden = hiddenBy([schema]);
  const isSecret = ({ input }: ResolvedInput): boolean => isHidden(input);
  const asked = new Set(fields.filter((one) => one.assignment === id).map(({ input }) => input));
  const [secret] = resolved.filter((field) => isSecret(field) && asked.has(field.input));
  if (secret)
    throw new FleetError(
      'SITE_VALUES',
      `the value ${secret.input} of ${id} is a secret, and a file of Git would show it to everybody who reads the branch`,
      {
        subject: id,
        hint: 'Give it by a secret set to a cluster with an agent, or encrypt it in the repository of the application (SOPS)',
      },
    );
  const shown = resolved.filter((field) => !isSecret(field));
  const violations = inputViolations('kubernetes', boundsOf(assignment), shown);
  if (violations.length > 0)
    throw new FleetError(
      'OUT_OF_BOUNDS',
      `${id} asks for site values that its workspace does not permit: ${nameSome(violations)}`,
      { subject: id, hint: 'Let the Workspace grant them under siteValues, or correct the site inputs' },
    );
  return shown;
};

/** The build adds a ConfigMap that is completed at the site where the platform has no value for it (assembleKubernetes). */
const withConfigs = (own: Tree, { siteInputs }: BundleConfig, { id, namespace }: BundleAssignment): Tree => {
  const missing = (siteInputs.configs ?? []).filter(
    ({ assignment, file }) => assignment === id && !own.has(file),
  );
  const value = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'platform-config', namespace },
    data: {},
  };
  return new Map([...own, ...missing.map(({ file }) => [file, Buffer.from(toYaml(value))] as const)]);
};

/** The files that differ, or that `own` has and the cluster type's folder has not. */
const placeIn = (own: Tree, fields: readonly ResolvedInput[]): Tree => {
  // Files that the reconciler fetches itself are not in the folder: it gets no values for them.
  const here = fields.filter(({ file }) => own.has(file));
  const objects = new Map([...own].filter(([, bytes]) => !isPlaybook(bytes.toString('utf8'))));
  const before = ordinal(parseManifests(objects));
  const after = putInputs(before, here);
  const differing = new Set(after.filter((one) => !before.includes(one)).map(({ file }) => file));
  return new Map(
    [...own].map(([path, bytes]) => {
      if (!differing.has(path)) return [path, bytes];
      const documents = after.filter(({ file }) => file === path).map(({ value }) => toYaml(value));
      return [path, Buffer.from(documents.join('---\n'))];
    }),
  );
};

/** A bundle has no empty documents, and its site inputs count none. */
const ordinal = (documents: readonly ParsedDocument[]): readonly ParsedDocument[] => {
  const counts = new Map<string, number>();
  return documents.map((document) => {
    const index = counts.get(document.file) ?? 0;
    counts.set(document.file, index + 1);
    return { ...document, index };
  });
};

/** Names that every version of YAML reads as text. */
const PLAIN = /^(?!(?:y|yes|n|no|on|off|true|false|null)$)[a-z][\w./-]*$/i;

/** YAML that every reader takes alike: text values and unusual names are in quotes. */
export const toYaml = (value: unknown): string => {
  const document = new Document(value, { ...YAML_OPTIONS, aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (key, node) => {
      if (typeof node.value !== 'string') return;
      const isPlain = key === 'key' && PLAIN.test(node.value);
      node.type = isPlain ? Scalar.PLAIN : Scalar.QUOTE_DOUBLE;
    },
    Pair: (_, { key }) => (isScalar(key) ? undefined : visit.SKIP),
  });
  return document.toString({ lineWidth: 0 });
};
