/** Columns where a terminal does not say how many it has. */
const USUAL = 80;

type Output = { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };

/**
 * Columns that a line may have: COLUMNS, also for a pipe, since `watch` sets it; else those of the terminal. undefined: no limit, so that
 * a pipe or a file gets each row of a table as one line.
 */
export const lineWidth = (output: Output, env: NodeJS.ProcessEnv): number | undefined => {
  const asked = env['COLUMNS'] ?? '';
  if (/^[1-9][0-9]{0,4}$/.test(asked)) return Number(asked);
  if (output.isTTY !== true) return undefined;
  return output.columns === undefined || output.columns === 0 ? USUAL : output.columns;
};
