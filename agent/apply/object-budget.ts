/** Files and objects that may go unasked for each package of the prune budget. */
export const OBJECTS_PER_PACKAGE = 10;

/** Number of files and objects that may go unasked: of one package by an update, and of all packages that leave the bundle. */
export const objectBudget = ({ pruneBudget }: { readonly pruneBudget: number }): number =>
  OBJECTS_PER_PACKAGE * Math.max(1, pruneBudget);
