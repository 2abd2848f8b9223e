import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { formatError, plainLine } from '#bundles/errors';
import type { AssignmentDiff, EnvironmentDiff, TypeDiff } from './compare-environments.ts';

/** The comparison as text: for each environment one line per cluster type, then every difference. */
export const formatDiff = (diffs: readonly EnvironmentDiff[]): string =>
  diffs.map(formatEnvironment).join('\n');

const formatEnvironment = (diff: EnvironmentDiff): string => {
  const { environment, files, clusterTypes, problems, unread } = diff;
  if (problems.length > 0)
    return `${environment}: cannot be compared\n${problems.map((one) => `  ${formatError(one)}\n`).join('')}`;
  const heads = clusterTypes.map((type) => `  ${type.clusterType}: ${summarise(type)}\n`);
  const bodies = [
    ...files.map((file) => formatItem('', file)),
    ...clusterTypes.flatMap((type) =>
      type.assignments.map((one) => formatAssignment(`${type.clusterType}/${one.assignment}`, one)),
    ),
  ];
  const nothing = heads.length === 0 && files.length === 0 ? '  nothing there\n' : '';
  const reasons = unread.map((one) => `  not read: ${formatError(one)}\n`);
  return [`${environment}\n`, nothing, ...heads, ...reasons, ...bodies].join('');
};

/** '2 created, 1 configured, 0 deleted, 14 unchanged; held: shop-web; images: nginx :1.25 -> :1.27' */
const summarise = ({ outcome, counts, assignments, images }: TypeDiff): string => {
  const whole = outcome === 'created' || outcome === 'deleted' ? `${outcome}; ` : '';
  const names = (wanted: AssignmentDiff['outcome']): string =>
    assignments
      .filter((one) => one.outcome === wanted)
      .map(({ assignment }) => assignment)
      .join(', ');
  const parts = [
    `${whole}${counts.created} created, ${counts.configured} configured, ${counts.deleted} deleted, ${counts.unchanged} unchanged`,
    names('held') && `held: ${names('held')}`,
    names('healed') && `healed: ${names('healed')}`,
    images.length > 0 && `images: ${images.map(formatImage).join(', ')}`,
  ];
  return parts.filter(Boolean).join('; ');
};

export const formatImage = ({ image, from, to }: TypeDiff['images'][number]): string =>
  `${image} ${from.map(shorten).join(' ') || 'none'} -> ${to.map(shorten).join(' ') || 'none'}`;

const shorten = (version: string): string => version.replace(/(sha256:[0-9a-f]{12})[0-9a-f]{52}$/, '$1');

const formatAssignment = (name: string, one: AssignmentDiff): string =>
  [
    ...notesOf(one).map((note) => `\n${plainLine(`${name} ${note}`)}\n`),
    ...one.objects.map((item) => formatItem(`${name}/`, item)),
  ].join('');

/** Lines about an assignment other than its objects. */
export const notesOf = ({ outcome, error, reformatted }: AssignmentDiff): readonly string[] => [
  ...(outcome === 'held'
    ? [`is held and stays as it is${error ? `: ${formatError(error)}` : ': its application cannot be read'}`]
    : []),
  ...(outcome === 'healed' ? ['is no longer held'] : []),
  ...(reformatted.length > 0 ? [`says the same in other bytes: ${reformatted.join(', ')}`] : []),
];

const formatItem = (prefix: string, { object, outcome, diff }: ItemDiff): string => {
  const [left, right] = [`a/${prefix}${object}`, `b/${prefix}${object}`];
  const before = outcome === 'created' ? '/dev/null' : left;
  const after = outcome === 'deleted' ? '/dev/null' : right;
  return `\n--- ${plainLine(before)}\n+++ ${plainLine(after)}\n${diff}`;
};
