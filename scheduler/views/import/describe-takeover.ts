import { formatError, formatPlace } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { TreeComparison } from './compare-trees.ts';
import type { ValueDifference } from './compare-values.ts';
import type { EnvironmentTakeover, Published, TakeoverReport } from './take-over.ts';

/** The report as lines for a person. */
export const describeTakeover = (report: TakeoverReport, to: string | undefined): readonly string[] => [
  ...report.environments.flatMap(describeEnvironment),
  ...report.notes.map((note) => `note: ${formatError(note)}`),
  ...report.broken.flatMap(({ environment, errors }) => [
    `${environment}: not compared, as it cannot be read`,
    ...errors.map((error) => `  ${formatError(error)}`),
  ]),
  ...nextLines(report, to),
];

const describeEnvironment = (one: EnvironmentTakeover): readonly string[] => [
  `${one.environment}: ${formatCount(one.assignments, 'assignment')} rendered, ${one.held.length} held`,
  ...one.held.map(({ error }) => `  held: ${formatError(error)}`),
  ...describePublished(one.published).map((line) => `  ${line}`),
  ...describeTaken(one.taken).map((line) => `  ${line}`),
];

const describePublished = (published: Published): readonly string[] => {
  switch (published.state) {
    case 'none':
      return ['published: the environment names no GitOpsRepo'];
    case 'unread':
      return [`published: not compared: ${formatError(published.error)}`];
    case 'compared': {
      const { repo, branch, files } = published;
      return describeFiles(`published in ${repo}#${branch}`, files, 'published', 'rendered');
    }
  }
};

const describeTaken = (taken: EnvironmentTakeover['taken']): readonly string[] =>
  taken
    ? [
        ...describeFiles(
          'taken over',
          taken.files,
          'rendered from Kalypso',
          'rendered from what was written',
        ),
        ...taken.held.map(({ error }) => `  held here: ${formatError(error)}`),
        ...taken.values.map(describeValue),
      ]
    : [];

const describeFiles = (
  title: string,
  files: TreeComparison,
  before: string,
  after: string,
): readonly string[] => [
  `${title}: ${files.equal.length} files equal, ${files.changed.length} differ, ${files.onlyBefore.length} only ${before}, ${files.onlyAfter.length} only ${after}`,
  ...files.changes.map(
    ({ path, line, ...texts }) =>
      `  differs: ${path}, line ${line}: ${before} ${shownLine(texts.before)}, ${after} ${shownLine(texts.after)}`,
  ),
  ...files.onlyBefore.map((path) => `  only ${before}: ${path}`),
  ...files.onlyAfter.map((path) => `  only ${after}: ${path}`),
];

const MAX_SHOWN = 100;

const shownLine = (line: string | undefined): string =>
  line === undefined
    ? 'nothing'
    : JSON.stringify(line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}...` : line);

const describeValue = ({ key, before, after, assignments, typesOnly }: ValueDifference): string => {
  const side = (value: ValueDifference['before']): string =>
    value ? `${JSON.stringify(value.value)} (${formatPlace(value.at)})` : 'nothing';
  const [first = '', ...others] = assignments;
  const where = others.length === 0 ? first : `${first} and ${others.length} more`;
  if (typesOnly && before && after)
    return `  value ${key}: ${JSON.stringify(before.value)} has keys or numbers in Kalypso (${formatPlace(before.at)}) that are text here (${formatPlace(after.at)}), in ${where}`;
  return `  value ${key}: Kalypso has ${side(before)}, here it is ${side(after)}, in ${where}`;
};

/** The written files and the next step; an environment that cannot be read ends the takeover. */
const nextLines = (
  { broken, written }: Pick<TakeoverReport, 'broken' | 'written'>,
  to: string | undefined,
): readonly string[] => {
  const lost = nameSome(broken.map(({ environment }) => environment));
  if (to === undefined) return broken.length > 0 ? [] : [NEXT_WITHOUT_TARGET];
  if (broken.length > 0) return [`Nothing was written to ${to}: it would have no ${lost}`];
  return [
    `${written.length} files written to ${to}`,
    `Next: cd ${to} && fleet-scheduler validate; then promotedFrom in fleet.yaml chains the environments`,
  ];
};

const NEXT_WITHOUT_TARGET =
  'Next: deliver with publish --to gitops --pull-request and promote with promote <environment> --from <environment>, and turn Kalypso off; or write the platform in our form with --to';
