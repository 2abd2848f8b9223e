import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import { fieldAt, siteFence } from '#bundles/formats/bounds/site-fence';
import { escapeToken, pointerTokens } from '#bundles/formats/bounds/site-fields';
import type { CompletedConfig, SiteInputField } from '#bundles/formats/bundle/config';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { type KubernetesObject, readKubernetesObjects } from '../../model/kubernetes/kubernetes-object.ts';
import type { DeploymentTarget } from '../../model/model.ts';
import { describedSchema, type KubernetesInput } from '../../model/site-input.ts';
import type { AssembledPackage } from './assembled-package.ts';
import { checkInputSchemas, inputFault } from './check-input-schemas.ts';
import { noField, pointersOf } from './check-site-inputs.ts';
import type { ManifestJudge, PreparedManifest } from './prepared-manifest.ts';

/** A file of the package with its objects. `own`: it is the application's, not from a template of the platform. */
export type PlacedManifest = {
  readonly path: string;
  readonly made: PreparedManifest;
  readonly own: boolean;
};

type Placed = Pick<AssembledPackage, 'siteInputs'> & {
  readonly siteConfigs?: AssembledPackage['siteConfigs'];
};

/** The ConfigMap that templates of the type `config` render. */
const CONFIG = 'platform-config';

type Spot = {
  readonly file: string;
  /** In its file, as the agent counts documents. */
  readonly index: number;
  readonly object: KubernetesObject;
  readonly value: { readonly [field: string]: unknown };
};

/**
 * Finds the object and the field of each site input in the package as it will be delivered.
 * @throws FleetError REFERENCE_MISSING, OUT_OF_BOUNDS, FIELD_INVALID, SCHEMA_INVALID, OBJECT_CLASH, OBJECT_INVALID ... with the place of
 *   the input
 */
export const placeSiteInputs = (
  target: DeploymentTarget,
  manifests: readonly PlacedManifest[],
  judge?: ManifestJudge,
): Placed => {
  const { siteInputs = [], siteConfig = false } = target;
  if (siteInputs.length === 0 && !siteConfig) return { siteInputs: [] };
  checkInputSchemas(siteInputs);
  const reader = spotReader(manifests, target.registration !== undefined);
  const taken = new Map<string, string>();
  const fields = siteInputs.map((input) => {
    const spot = findObject(input, reader);
    const field = fieldOf(input, spot);
    const place = `${field.file} ${field.pointer}`;
    const other = [...taken].find(([one]) => overlaps(one, place));
    if (other)
      throw inputFault(
        'OBJECT_CLASH',
        input,
        `goes to the same field as ${other[1]}`,
        'Let each go to a field of its own',
      );
    taken.set(place, input.name);
    judgeWithValue(input, spot, judge);
    return { ...field, schema: describedSchema(input) };
  });
  return defined({ siteInputs: fields, siteConfigs: siteConfig ? [configOf(target, manifests)] : undefined });
};

const overlaps = (one: string, other: string): boolean =>
  `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);

/** Reads the files that may hold an object, each at most one time. */
const spotReader = (manifests: readonly PlacedManifest[], isTenant: boolean) => {
  const parsed = new Map<PlacedManifest, readonly Spot[]>();
  const read = (manifest: PlacedManifest): readonly Spot[] => {
    const known = parsed.get(manifest) ?? spotsIn(manifest);
    parsed.set(manifest, known);
    return known;
  };
  // A tenant that could change the quota of its namespace would not be bound by it.
  const readable = manifests.filter(({ own }) => own || !isTenant);
  return {
    all: readable.flatMap(({ made }) => made.objects()),
    of: (kind: string) =>
      readable.filter(({ made }) => made.objects().some((one) => one.kind === kind)).flatMap(read),
  };
};

const spotsIn = ({ path, made }: PlacedManifest): readonly Spot[] =>
  readKubernetesObjects(path, made.text, []).map((object, index) => ({
    file: path,
    index,
    object,
    value: object.parsed.document.toJS() as Spot['value'],
  }));

/** The hash that the generators of Kustomize append to names. */
const GENERATED = /-[0-9bcdfghkmt]{10}$/;

const findObject = (input: KubernetesInput, reader: ReturnType<typeof spotReader>): Spot => {
  const { kind, name } = input.to;
  const version = 'apiVersion' in input.to ? input.to.apiVersion : undefined;
  const like = reader
    .of(kind)
    .filter(({ object }) => object.kind === kind && (version === undefined || object.apiVersion === version));
  const exact = like.filter(({ object }) => object.name === name);
  const found =
    exact.length > 0 ? exact : like.filter(({ object }) => object.name.replace(GENERATED, '') === name);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (only)
    throw inputFault(
      'FIELD_INVALID',
      input,
      `goes to ${kind} ${name}, and there are ${found.length} of them: ${nameSome(found.map(({ object }) => `${object.apiVersion} ${object.name}`))}`,
      'Name the apiVersion, or the whole name',
    );
  const names = like.map(({ object }) => object.name);
  const kinds = reader.all.map((one) => one.kind);
  const known =
    names.length > 0
      ? `It has the ${kind} ${nameSome(names)}`
      : `It has ${nameSome([...new Set(kinds)]) || 'no objects'}`;
  throw inputFault(
    'REFERENCE_MISSING',
    input,
    `goes to ${kind} ${name}, which the application does not have`,
    `${(names.length > 0 ? didYouMean(name, names) : didYouMean(kind, kinds)) ?? ''}${known}`,
  );
};

const fieldOf = (input: KubernetesInput, spot: Spot): Omit<SiteInputField, 'assignment'> => {
  const { to } = input;
  const pointer = 'key' in to ? `/data/${escapeToken(to.key)}` : to.pointer;
  const tokens = pointerTokens(pointer);
  const shown = { ...input, pointer, file: `${spot.object.kind} ${spot.object.name}` };
  if (fieldAt(spot.value, tokens) === undefined) throw noField(shown, pointersOf(spot.value), 'field');
  const values = [undefined, input.default, input.example].filter((one, at) => at === 0 || one !== undefined);
  for (const value of values) {
    const why = siteFence(spot.value, tokens, 'key' in to && value !== undefined ? '' : value);
    if (why !== undefined)
      throw inputFault(
        'OUT_OF_BOUNDS',
        input,
        `may not go to ${JSON.stringify(pointer)} of ${shown.file}: ${why}`,
        'docs/site-values.md says what a site value never decides',
      );
  }
  if (spot.object.kind === 'ConfigMap' && spot.value['immutable'] === true)
    throw inputFault(
      'FIELD_INVALID',
      input,
      `goes to ${shown.file}, which is immutable`,
      'Leave immutable out; pods restart when the value changes',
    );
  const isText = spot.object.kind === 'ConfigMap' && tokens[0] === 'data';
  return defined({
    input: input.name,
    file: spot.file,
    pointer: `/${spot.index}${pointer}`,
    as: isText ? ('text' as const) : undefined,
    restart: isText && !('restart' in to && !to.restart) ? (true as const) : undefined,
  });
};

/** Judges the object by the schemas of the cluster with the default and the example in. */
const judgeWithValue = (input: KubernetesInput, { object }: Spot, judge: ManifestJudge | undefined): void => {
  if (!judge || 'key' in input.to) return;
  const path = pointerTokens(input.to.pointer);
  const { document } = object.parsed;
  const before = document.getIn(path, true);
  for (const what of ['default', 'example'] as const) {
    if (input[what] === undefined) continue;
    document.setIn(path, document.createNode(input[what]));
    const [wrong] = judge.judge(object);
    document.setIn(path, before);
    if (wrong)
      throw inputFault(
        'FIELD_INVALID',
        input,
        `has the ${what} ${JSON.stringify(input[what])}, with which ${object.kind} ${object.name} is not valid: ${wrong.message}`,
        `Change the ${what} and the schema to what the field takes`,
      );
  }
};

const configOf = (
  { name, at, registration, siteValues }: DeploymentTarget,
  manifests: readonly PlacedManifest[],
): Omit<CompletedConfig, 'assignment'> => {
  // Without Workspace objects nothing says which values a team may read, and this asks for all.
  if (registration !== undefined && siteValues === undefined)
    throw new FleetError(
      'OUT_OF_BOUNDS',
      'siteConfig asks for all values of a site, and nothing grants them',
      {
        subject: name,
        at,
        hint: 'Let the platform write a Workspace that grants spec: {siteValues: [...]}, or name single values under siteInputs',
      },
    );
  const found = manifests
    .filter(({ own, path }) => !own && path.startsWith(`${CONFIG}.`))
    .flatMap(spotsIn)
    .find(({ object }) => object.kind === 'ConfigMap' && object.name === CONFIG);
  if (found && isRecord(found.value['data'])) return { file: found.file, pointer: `/${found.index}/data` };
  throw new FleetError(
    'REFERENCE_MISSING',
    `siteConfig completes the ConfigMap ${CONFIG}, which is not rendered`,
    {
      subject: name,
      at,
      hint: 'Give the cluster type configType: configmap',
    },
  );
};
