import { formatError, formatPlace, plainLine } from '#bundles/errors';
import { shortDigest } from '#bundles/digest';
import type { ExplainedPromotion } from './explain-environment.ts';
import type { ExplainedPair, ExplainedPolicy, ExplainedValue, ValueSetting } from './explain-platform.ts';

/** The promotion that a chained environment is built from, and the sources that it fixes. */
export const formatPromotion = (environment: string, promotion: ExplainedPromotion): readonly string[] => {
  const { from, number, mode, candidate, person, reason, time, sources } = promotion;
  const who = person ?? `the policy (${mode})`;
  return [
    plainLine(
      `${environment} is built from candidate ${shortDigest(candidate)}: promotion ${number} from ${from}, by ${who} at ${time}${reason === null ? '' : `: ${reason}`}`,
    ),
    ...table(
      sources.map(({ by, role, path, commit }) => [
        `  ${by}`,
        role,
        path,
        commit === undefined ? 'a directory' : `commit ${commit.slice(0, 12)}`,
      ]),
    ),
  ];
};

/** An explanation as lines for people: the pair, its policy, files and values, each with its place. */
export const formatPair = (pair: ExplainedPair): readonly string[] => [
  `${pair.clusterType}/${pair.deploymentTarget}`,
  ...table([
    ['  cluster type', formatPlace(pair.clusterTypeAt)],
    ['  deployment target', formatPlace(pair.deploymentTargetAt)],
  ]),
  ...(pair.policy === undefined ? formatAbsence(pair) : pair.policies.flatMap(formatPolicy)),
  ...(pair.held ? [`  held: ${formatError(pair.held)}`] : []),
  ...table(
    pair.files.map(({ path, template, at }) => [`  ${path}`, `Template ${template}`, formatPlace(at)]),
  ),
  ...pair.values.flatMap(formatValue),
];

const formatAbsence = ({ policies }: ExplainedPair): readonly string[] => [
  policies.length === 0
    ? '  not assigned: the environment has no policy'
    : '  not assigned: no policy selects the two together',
  ...policies.flatMap(({ name, at, terms }) => [
    `  policy ${name}  ${formatPlace(at)}`,
    ...table(terms.map((term) => [`    ${term.holds ? 'yes' : 'NO '}`, ...termCells(term)])),
  ]),
];

const formatPolicy = ({ name, at, terms }: ExplainedPolicy, index: number): readonly string[] => [
  `  policy ${name}  ${formatPlace(at)}${index === 0 ? '' : '  selects it too, but has it not'}`,
  ...(terms.length === 0 ? ['    selects everything'] : []),
  ...table(terms.map((term) => ['   ', ...termCells(term)])),
];

const termCells = ({ of, wants, found, holds }: ExplainedPolicy['terms'][number]): readonly string[] => [
  of,
  wants,
  holds ? '' : labelText(found),
];

const formatValue = (value: ExplainedValue): readonly string[] => [
  `  ${value.path.join('.')} = ${shown(value)}`,
  ...table([
    ['    from', formatPlace(value.at), layerText(value), selectedText(value)],
    ...value.overrode.map((say) => [
      '    over',
      formatPlace(say.at),
      layerText(say),
      selectedText(say),
      value.hidden ? '' : `was ${shown({ ...say, hidden: false })}`,
    ]),
  ]),
];

const layerText = ({ layer, from }: ValueSetting): string => `${layer} (${from})`;

const selectedText = ({ selected }: ValueSetting): string =>
  selected.length === 0 ? 'everywhere' : selected.map(({ wants, by }) => `${wants} (${by})`).join(', ');

const shown = ({ value, hidden }: { value: ValueSetting['value']; hidden: boolean }): string =>
  hidden ? '*** (writeOnly)' : JSON.stringify(value);

/** Columns two spaces apart, each as wide as its longest cell. */
const table = (cells: readonly (readonly string[])[]): readonly string[] => {
  const rows = cells.map((row) => row.map(plainLine));
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};

const labelText = (found: string | undefined): string =>
  found === undefined ? 'has no such label' : `is ${found}`;
