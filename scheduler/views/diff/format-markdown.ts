import { formatCount } from '#bundles/format-count';
import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { formatError, plainText } from '#bundles/errors';
import { type AssignmentDiff, differs, type EnvironmentDiff, type TypeDiff } from './compare-environments.ts';
import { formatImage, notesOf } from './format-diff.ts';

/** Maximum length of a comment on GitHub; Gitea accepts more. */
export const COMMENT_LIMIT = 65_536;

/** Reserved for the sentence about omitted parts. */
const RESERVE = 400;
/** Maximum characters of one object's difference; its middle is omitted beyond it. */
const MAX_DIFF = 12_000;

/**
 * The comparison as a comment for a pull request: a table, and a collapsible block for each assignment, at most COMMENT_LIMIT
 * characters. Omitted lines are counted; lines are never cut.
 */
export const formatMarkdown = (diffs: readonly EnvironmentDiff[]): string => {
  const heads = plainText(diffs.map(formatHead).join('\n'));
  const blocks = diffs.flatMap(formatBlocks).map(plainText);
  let text = heads.length > COMMENT_LIMIT - RESERVE ? cut(heads, COMMENT_LIMIT - RESERVE) : heads;
  let left = 0;
  for (const block of blocks) {
    if (left === 0 && text.length + block.length + RESERVE <= COMMENT_LIMIT) text += `\n${block}`;
    else left += 1;
  }
  if (left === 0) return text;
  const blocksLeft = `${left} of ${blocks.length} blocks are`;
  return `${text}\n> **Cut here:** ${blocksLeft} not shown, because a comment has at most ${COMMENT_LIMIT} characters. \`fleet-scheduler diff\` without \`--markdown\` shows all of it.\n`;
};

const formatHead = (diff: EnvironmentDiff): string => {
  const { environment, clusterTypes, problems, unread } = diff;
  const title = `### Rendered changes: ${escape(environment)}\n`;
  if (problems.length > 0)
    return `${title}\nCannot be compared:\n\n${problems.map((one) => `- ${escape(formatError(one))}\n`).join('')}`;
  if (!differs(diff)) return `${title}\nNo difference.\n`;
  const changed = clusterTypes.filter(({ outcome }) => outcome !== 'unchanged');
  const same = clusterTypes.length - changed.length;
  const rest = same > 0 ? `\n${same} other cluster type${same === 1 ? ' is' : 's are'} unchanged.\n` : '';
  if (changed.length === 0) return `${title}${rest}`;
  return [
    title,
    '\n| cluster type | created | configured | deleted | unchanged | held | images |\n',
    '| --- | ---: | ---: | ---: | ---: | --- | --- |\n',
    ...changed.map(formatRow),
    ...(unread.length > 0
      ? [`\nNot read:\n\n${unread.map((one) => `- ${escape(formatError(one))}\n`).join('')}`]
      : []),
    rest,
  ].join('');
};

const formatRow = ({ clusterType, outcome, counts, assignments, images }: TypeDiff): string => {
  const whole = outcome === 'created' || outcome === 'deleted' ? ` (${outcome})` : '';
  const named = (wanted: AssignmentDiff['outcome'], mark: string): readonly string[] =>
    assignments.filter((one) => one.outcome === wanted).map(({ assignment }) => `${mark}${assignment}`);
  const cells = [
    `${clusterType}${whole}`,
    counts.created,
    counts.configured,
    counts.deleted,
    counts.unchanged,
    [...named('held', ''), ...named('healed', 'healed: ')].join(', '),
    images.map(formatImage).join(', '),
  ];
  return `| ${cells.map((cell) => escape(String(cell)).replaceAll('|', '\\|')).join(' | ')} |\n`;
};

const formatBlocks = ({ environment, files, clusterTypes }: EnvironmentDiff): readonly string[] => [
  ...files.map((file) => details(`${environment}: ${file.object} ${file.outcome}`, formatItem(file))),
  ...clusterTypes.flatMap(({ clusterType, assignments }) =>
    assignments.map((one) => {
      const objects = one.objects.length === 0 ? '' : `, ${formatCount(one.objects.length, 'object')}`;
      const title = `${environment}: ${clusterType}/${one.assignment} ${one.outcome}${objects}`;
      const notes = notesOf(one).map((note) => `${escape(note)}\n\n`);
      return details(title, [...notes, ...one.objects.map(formatItem)].join(''));
    }),
  ),
];

const details = (summary: string, body: string): string =>
  `<details><summary>${escape(summary)}</summary>\n\n${body}</details>\n`;

const formatItem = ({ object, outcome, diff }: ItemDiff): string => {
  const shown = diff.length > MAX_DIFF ? cut(diff, MAX_DIFF) : diff;
  const fence = fenceFor(shown);
  return `${escape(object)} ${outcome}\n${fence}diff\n${shown.replace(/\n?$/, '\n')}${fence}\n\n`;
};

/** Longer than any run of backticks in the text, which could otherwise end its block and inject Markdown. */
const fenceFor = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  return '`'.repeat(longest + 1);
};

/** Keeps whole lines only, and adds the number of omitted ones. */
const cut = (text: string, length: number): string => {
  const end = text.lastIndexOf('\n', length - 60) + 1;
  const missing = text.slice(end).split('\n').length - 1;
  return `${text.slice(0, end)}... ${missing} more lines\n`;
};

/** Escapes names, which come from proposed files: they must not act as HTML, Markdown or @mentions. */
const escape = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]#]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@&#8203;')
    .replaceAll(/\s+/g, ' ');
