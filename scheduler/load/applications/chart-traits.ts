import type { HelmSource } from './application-source.ts';

/** Inputs that a chart may read, by its text: a function that the text does not name is not called. */
export type ChartTraits = {
  /** Whether it names something with varying results: randomness, the unordered keys of a map, or the clock. */
  readonly varies: 'no' | 'by chance' | 'with the clock';
  /** Whether it names the namespace, so that the output may differ between cluster types. */
  readonly usesNamespace: boolean;
  /** Whether it names `.Capabilities.APIVersions`, so that the output may depend on the kinds that the bundle brings. */
  readonly usesVersions: boolean;
};

const CLOCK = /\b(?:now|ago)\b/;
const RANDOM_CALL =
  /\b(?:rand[A-Z]\w*|gen[A-Z]\w*|buildCustomCert|encryptAES|uuidv4|shuffle|htpasswd|bcrypt|keys|values|getHostByName)\b/;

/** Passing on all of `.Release` counts as using the namespace. */
const NAMESPACE = /Namespace\b|\.Release(?!\.\w)/;

/** Passing on all of `.Capabilities` counts as using the versions. */
const VERSIONS = /\bAPIVersions\b|\.Capabilities(?!\.\w)/;

/** Packed charts are not read here, so they may use anything. */
const UNKNOWN: ChartTraits = { varies: 'with the clock', usesNamespace: true, usesVersions: true };

/** Traits of the chart and its values files. */
export const chartTraits = ({ chart, values }: HelmSource): ChartTraits => {
  if (chart.from === 'elsewhere') return UNKNOWN;
  if ([...chart.files.keys()].some((path) => /\.(?:tgz|tar\.gz)$/.test(path))) return UNKNOWN;
  const all = [...chart.files.values(), ...values.map(({ bytes }) => bytes)];
  return all.map((bytes) => textTraits(bytes.toString('latin1'))).reduce(addTraits, textTraits(''));
};

/** Traits of one text. The composed configuration counts too, because a chart may render it as a template. */
export const textTraits = (text: string): ChartTraits => ({
  varies: variesOf(text),
  usesNamespace: NAMESPACE.test(text),
  usesVersions: VERSIONS.test(text),
});

export const addTraits = (a: ChartTraits, b: ChartTraits): ChartTraits => ({
  varies: a.varies === 'no' || b.varies === 'with the clock' ? b.varies : a.varies,
  usesNamespace: a.usesNamespace || b.usesNamespace,
  usesVersions: a.usesVersions || b.usesVersions,
});

const variesOf = (text: string): ChartTraits['varies'] => {
  if (CLOCK.test(text)) return 'with the clock';
  return RANDOM_CALL.test(text) ? 'by chance' : 'no';
};
