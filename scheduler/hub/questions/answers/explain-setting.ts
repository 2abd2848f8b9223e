import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { formatPlace, type Place } from '#bundles/errors';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { layerRole } from '../../../model/images/layer-role.ts';
import type { Blamed, CommittedFile, LineChange, readBlame } from '../../../load/sources/read-blame.ts';
import type { SiteLayer } from '../../../model/model.ts';
import { plainValue } from '../../../model/plain-value.ts';
import type { AgentComposition, SiteComposition } from '../../../plan/compose/compose-site.ts';
import type { ConfigSetting } from '../../../plan/compose/explain-config.ts';
import type { ReleasedChannelLayers } from '../../sites/read-channel-layers.ts';

/** A value that a layer sets. `value` is withheld if it may be secret. */
export type ExplainedSetting = {
  /** Keys below the value; empty: it is the whole value. */
  readonly path: readonly string[];
  readonly value: Json;
  /** Name of the Config. */
  readonly layer: string;
  readonly from: SiteLayer['from'];
  /** The labels that it selects by: 'region=north'. Empty: every site. */
  readonly selects: readonly string[];
  /** '<file>:<line>:<column>' in its repository. */
  readonly at: string;
  /** The commit that wrote the line, as far as the repository knows. */
  readonly changed?: Omit<LineChange, 'text'>;
  /** The values of layers below that it overrides, the nearest first. */
  readonly overrides: readonly Omit<ExplainedSetting, 'overrides' | 'path'>[];
};

/** The change of a line in the file of a layer. */
export type ChangeOf = (layer: SiteLayer, at: Place) => Omit<LineChange, 'text'> | undefined;

/** The settings of one value of a composition, sorted by path. @param of its name, and whether its layers override people */
export const settingsOfInput = (
  layered: SiteComposition | undefined,
  { name, fixed }: { readonly name: string; readonly fixed: boolean },
  changeOf: ChangeOf,
): readonly ExplainedSetting[] =>
  (layered?.origins ?? [])
    .filter(({ path: [first], layer }) => first === name && layer.fixed === fixed)
    .map(({ path, overrode, ...setting }) => ({
      path: path.slice(1),
      ...explainOne(setting, changeOf),
      overrides: overrode.map((one) => explainOne(one, changeOf)),
    }));

const explainOne = (
  { layer, at, value }: ConfigSetting<SiteLayer>,
  changeOf: ChangeOf,
): Omit<ExplainedSetting, 'overrides' | 'path'> =>
  defined({
    value: plainValue(value),
    layer: layer.name,
    from: layer.from,
    selects: Object.entries({ ...layer.selector, ...layer.siteSelector }).map((pair) => pair.join('=')),
    at: formatPlace({ ...at, file: layer.path }),
    changed: changeOf(layer, at),
  });

export const withholdSetting = (setting: ExplainedSetting): ExplainedSetting => ({
  ...setting,
  value: WITHHELD,
  overrides: setting.overrides.map((one) => ({ ...one, value: WITHHELD })),
});

type Composed = { readonly channel: ReleasedChannelLayers; readonly composition: AgentComposition };

/** Asks once for all lines that the compositions name. A line that does not name its key any more has no known change. */
export const findChanges = async (
  compositions: readonly Composed[],
  blame: ((asked: readonly Blamed[]) => ReturnType<typeof readBlame>) | undefined,
): Promise<ChangeOf> => {
  if (!blame) return () => undefined;
  const files = new Map<string, { readonly blamed: CommittedFile; readonly lines: Set<number> }>();
  const fileByLayer = new Map<SiteLayer, string>();
  for (const { channel, composition } of compositions)
    for (const { layer, at } of settingsIn(composition)) {
      const blamed = channel.stated && fileOf(layer, channel.channel.environment, channel.stated);
      if (!blamed || at.line === undefined) continue;
      const key = JSON.stringify(blamed);
      const known = files.get(key) ?? { blamed, lines: new Set() };
      known.lines.add(at.line);
      files.set(key, known);
      fileByLayer.set(layer, key);
    }
  const found = await blame(
    [...files.values()].map(({ blamed, lines }) => ({ ...blamed, lines: [...lines] })),
  );
  const byFile = new Map([...files.keys()].map((key, at) => [key, found[at]]));
  return (layer, at) => {
    const change = at.line === undefined ? undefined : byFile.get(fileByLayer.get(layer) ?? '')?.get(at.line);
    if (!change) return undefined;
    const { text, ...more } = change;
    return isNamed(layer, at, text) ? more : undefined;
  };
};

const settingsIn = ({ whole, assignments }: AgentComposition): readonly ConfigSetting<SiteLayer>[] =>
  [whole, ...assignments.values()].flatMap(({ origins }) =>
    origins.flatMap(({ overrode, ...setting }) => [setting, ...overrode]),
  );

/** Whether a line may still be the one of a value: it has a key of the layer. A folder may have been edited and not committed. */
const isNamed = ({ values }: SiteLayer, { line }: Place, text: string): boolean =>
  line !== undefined && keysIn(plainValue(values)).some((key) => text.includes(key));

const keysIn = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [
        ...(Array.isArray(value) ? [] : [key]),
        ...keysIn(inner),
      ])
    : [String(value)];

/**
 * The file of a layer in the repository that the release was built from; undefined: the statement does not name it. A folder is named by its
 * role alone: 'directory:platform'.
 */
const fileOf = (
  { path, from }: SiteLayer,
  environment: string,
  { sources, builtAt }: NonNullable<ReleasedChannelLayers['stated']>,
): CommittedFile | undefined => {
  const [, registration, own] = /^config\/([^:]+):(.*)$/.exec(path) ?? [];
  const sourceOf = (role: string): CandidateSource | undefined => sources.find((one) => one.role === role);
  const source = sourceOf(registration === undefined ? 'platform' : `config/${registration}`);
  if (!source) return undefined;
  const file = posix.join(source.path, own ?? path);
  const layer =
    from === 'environment' && registration === undefined ? sourceOf(layerRole(environment)) : source;
  const { repo, commit } = layer ?? source;
  if (commit !== undefined) return { url: repo, commit, file };
  return repo.startsWith('directory:') ? { directory: repo, before: builtAt, file } : undefined;
};

/** Lines for people: the layer of a setting, and those that it overrides. */
export const settingLines = (
  { path, overrides, ...setting }: ExplainedSetting,
  indent: string,
): readonly string[] => [
  `${indent}${path.length === 0 ? '' : `${path.join('.')} = ${JSON.stringify(setting.value)}  `}${describeLayer(setting)}`,
  ...overrides.map((one) => `${indent}over ${JSON.stringify(one.value)} of ${describeLayer(one)}`),
];

const describeLayer = ({
  layer,
  from,
  selects,
  at,
  changed,
}: Omit<ExplainedSetting, 'overrides' | 'path'>): string => {
  const where = selects.length === 0 ? 'every site' : selects.join(', ');
  const by = changed
    ? `, commit ${changed.commit.slice(0, 12)} by ${changed.author} at ${changed.at}: ${changed.summary}`
    : '';
  return `Config ${layer} (${from}, ${where}) at ${at}${by}`;
};
