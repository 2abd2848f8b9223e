import { formatError, formatPlace } from '#bundles/errors';
import { shortDigest } from '#bundles/digest';
import { paragraph, type Printed } from '#cli/format-table';
import type { ExplainedPromotion } from './explain-environment.ts';
import type { ExplainedPair, ExplainedPolicy, ExplainedValue, ValueSetting } from './explain-platform.ts';

/** The promotion that a chained environment is built from, and the sources that it fixes. */
export const formatPromotion = (environment: string, promotion: ExplainedPromotion): readonly Printed[] => {
  const { from, number, mode, candidate, person, reason, time, sources } = promotion;
  const who = person ?? `the policy (${mode})`;
  return [
    paragraph(
      `${environment} is built from candidate ${shortDigest(candidate)}: promotion ${number} from ${from}, by ${who} at ${time}${reason === null ? '' : `: ${reason}`}`,
    ),
    {
      indent: 2,
      rows: sources.map(({ by, role, path, commit }) => [
        by,
        role,
        path,
        commit === undefined ? 'a directory' : `commit ${commit.slice(0, 12)}`,
      ]),
    },
  ];
};

/** An explanation as lines for people: the pair, its policy, files and values, each with its place. */
export const formatPair = (pair: ExplainedPair): readonly Printed[] => [
  `${pair.clusterType}/${pair.deploymentTarget}`,
  {
    indent: 2,
    rows: [
      ['cluster type', formatPlace(pair.clusterTypeAt)],
      ['deployment target', formatPlace(pair.deploymentTargetAt)],
    ],
  },
  ...(pair.policy === undefined ? formatAbsence(pair) : pair.policies.flatMap(formatPolicy)),
  ...(pair.held ? [paragraph(`held: ${formatError(pair.held)}`, 2)] : []),
  {
    indent: 2,
    rows: pair.files.map(({ path, template, at }) => [path, `Template ${template}`, formatPlace(at)]),
  },
  ...pair.values.flatMap(formatValue),
];

const formatAbsence = ({ policies }: ExplainedPair): readonly Printed[] => [
  policies.length === 0
    ? '  not assigned: the environment has no policy'
    : '  not assigned: no policy selects the two together',
  ...policies.flatMap(({ name, at, terms }) => [
    paragraph(`policy ${name}  ${formatPlace(at)}`, 2),
    { indent: 4, rows: terms.map((term) => [term.holds ? 'yes' : 'NO', ...termCells(term)]) },
  ]),
];

const formatPolicy = ({ name, at, terms }: ExplainedPolicy, index: number): readonly Printed[] => [
  paragraph(`policy ${name}  ${formatPlace(at)}${index === 0 ? '' : '  selects it too, but has it not'}`, 2),
  ...(terms.length === 0 ? ['    selects everything'] : []),
  { indent: 5, rows: terms.map(termCells) },
];

const termCells = ({ of, wants, found, holds }: ExplainedPolicy['terms'][number]): readonly string[] => [
  of,
  wants,
  holds ? '' : labelText(found),
];

const formatValue = (value: ExplainedValue): readonly Printed[] => [
  paragraph(`${value.path.join('.')} = ${shown(value)}`, 2),
  {
    indent: 4,
    rows: [
      ['from', formatPlace(value.at), layerText(value), selectedText(value)],
      ...value.overrode.map((say) => [
        'over',
        formatPlace(say.at),
        layerText(say),
        selectedText(say),
        value.hidden ? '' : `was ${shown({ ...say, hidden: false })}`,
      ]),
    ],
  },
];

const layerText = ({ layer, from }: ValueSetting): string => `${layer} (${from})`;

const selectedText = ({ selected }: ValueSetting): string =>
  selected.length === 0 ? 'everywhere' : selected.map(({ wants, by }) => `${wants} (${by})`).join(', ');

const shown = ({ value, hidden }: { value: ValueSetting['value']; hidden: boolean }): string =>
  hidden ? '*** (writeOnly)' : JSON.stringify(value);

const labelText = (found: string | undefined): string =>
  found === undefined ? 'has no such label' : `is ${found}`;
