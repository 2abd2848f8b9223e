/** A boundary of the journal, as a crash program prints it, and which one it is, from 1. */
export type Boundary = { readonly point: string; readonly n: number };

/** Reads what a crash program printed in an undisturbed run. */
export const boundariesIn = (printed: string): readonly Boundary[] =>
  printed
    .trimEnd()
    .split('\n')
    .map((point, at) => ({ point, n: at + 1 }));

/** The same for all packages and numbers: 'apply: step n done', 'apply (roll back): staged'. */
export const sortOf = ({ point }: Boundary): string =>
  point.replace(/^(\w+) [^: ]+/, '$1').replace(/\d+/g, 'n');

/** The first boundary of each sort. */
export const oneOfEachSort = (boundaries: readonly Boundary[]): readonly Boundary[] =>
  boundaries.filter((one, at) => boundaries.findIndex((other) => sortOf(other) === sortOf(one)) === at);
