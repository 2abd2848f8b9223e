import { plainLine } from '#bundles/errors';
import { cutText } from '#cli/cut-text';
import { formatAge } from './format-age.ts';
import { isFailed } from '../../../model/event-steps.ts';
import type { Row } from '../state/what-runs-where.ts';

/** Lines shown of one check's output; `--json` has all that the agent kept. */
const MAX_LINES = 10;
const MAX_WIDTH = 200;

/** Lines below the table on why packages failed or were rolled back: the reported message, and the output of failed checks. */
export const describeFailures = (rows: readonly Row[], now: Date): readonly string[] =>
  rows.flatMap(({ site, agent, assignment, health }) => {
    if (!health || !isFailed(health) || health.message === null) return [];
    const what = `${site}/${agent} ${assignment ?? ''}`.trimEnd();
    const code = health.code === null ? '' : `${health.code}: `;
    return [
      `${what}, ${formatAge(health.at, now)}: ${oneLine(`${code}${health.message}`)}`,
      ...(health.checks ?? []).flatMap(({ name, output }) =>
        output === undefined ? [] : [`  check ${oneLine(name)} printed:`, ...linesOf(output)],
      ),
    ];
  });

const linesOf = (output: string): readonly string[] => {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return [
    ...lines.slice(0, MAX_LINES).map((line) => `    ${oneLine(line)}`),
    ...(lines.length > MAX_LINES ? [`    ... ${lines.length - MAX_LINES} more lines: --json has them`] : []),
  ];
};

const oneLine = (text: string): string => {
  const plain = plainLine(text);
  return plain.length > MAX_WIDTH ? `${cutText(plain, MAX_WIDTH)} ...` : plain;
};
