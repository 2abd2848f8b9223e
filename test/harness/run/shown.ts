import { formatLines, type Printed } from '../../../cli/format-table.ts';

/** The lines of an answer as a pipe gets them. */
export const shown = (printed: readonly Printed[]): readonly string[] => formatLines(printed, undefined);
