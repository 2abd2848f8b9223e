import type { HelmSource } from './application-source.ts';

/** What a chart may look at, judged by its text: a function that is never named is never called. */
export type ChartTraits = {
  /** Names something that may give another answer each time: randomness, a map's keys in no order; or the clock. */
  readonly varies: 'no' | 'by chance' | 'with the clock';
  /** Names the namespace, so that each cluster type may get another text. */
  readonly usesNamespace: boolean;
};

const CLOCK = /\b(?:now|ago)\b/;
const CHANCE =
  /\b(?:rand[A-Z]\w*|gen[A-Z]\w*|buildCustomCert|encryptAES|uuidv4|shuffle|htpasswd|bcrypt|keys|values|getHostByName)\b/;

/** The whole of `.Release` handed on counts as the namespace too. */
const NAMESPACE = /Namespace\b|\.Release(?!\.\w)/;

/** What is packed away cannot be read here, so it may do anything. */
const UNKNOWN: ChartTraits = { varies: 'with the clock', usesNamespace: true };

/** Of the chart and its values files. */
export const chartTraits = ({ chart, values }: HelmSource): ChartTraits => {
  if (chart.from === 'elsewhere') return UNKNOWN;
  if ([...chart.files.keys()].some((path) => /\.(?:tgz|tar\.gz)$/.test(path))) return UNKNOWN;
  const all = [...chart.files.values(), ...values.map(({ bytes }) => bytes)];
  return all.map((bytes) => textTraits(bytes.toString('latin1'))).reduce(addTraits, textTraits(''));
};

/** Of one text: the composed configuration is one too, which a chart may take for a template. */
export const textTraits = (text: string): ChartTraits => ({
  varies: CLOCK.test(text) ? 'with the clock' : CHANCE.test(text) ? 'by chance' : 'no',
  usesNamespace: NAMESPACE.test(text),
});

export const addTraits = (a: ChartTraits, b: ChartTraits): ChartTraits => ({
  varies: a.varies === 'no' || b.varies === 'with the clock' ? b.varies : a.varies,
  usesNamespace: a.usesNamespace || b.usesNamespace,
});
