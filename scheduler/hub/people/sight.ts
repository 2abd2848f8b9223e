import { type Allowance, environmentAllowances } from '../sites/tokens/allowance.ts';

/**
 * Environments and workspaces that a caller may read, by name. `parts`: workspaces of environments that it may not read whole.
 */
export type ReadScope = {
  /** Environments; '*' is in no sight, because such a caller sees everything. */
  readonly whole: ReadonlySet<string>;
  readonly parts: readonly { readonly environment: string; readonly workspace: string }[];
  /** Environments, or '*', about whose candidates it decides for workspaces, so that it sees the state of their gates. */
  readonly gates: ReadonlySet<string>;
};

/** @returns undefined: everything; 'nothing': no allowance to read */
export const sightOf = (all: readonly Allowance[]): ReadScope | 'nothing' | undefined => {
  const allowances = environmentAllowances(all);
  const reads = allowances.filter(({ verb }) => verb === 'read');
  if (reads.length === 0) return 'nothing';
  if (reads.some(({ environment, workspace }) => environment === '*' && workspace === undefined))
    return undefined;
  return {
    whole: new Set(reads.filter(({ workspace }) => workspace === undefined).map((one) => one.environment)),
    parts: reads.flatMap(({ environment, workspace }) =>
      workspace === undefined ? [] : [{ environment, workspace }],
    ),
    gates: new Set(
      allowances.flatMap(({ verb, environment, workspace }) =>
        workspace !== undefined && (verb === 'approve' || verb === 'reject') ? [environment] : [],
      ),
    ),
  };
};

/** Whether a caller may know a workspace of an environment by name. */
export const seesWorkspace = (
  allowances: readonly Allowance[],
  environment: string,
  workspace: string,
): boolean =>
  environmentAllowances(allowances).some(
    (one) =>
      one.verb === 'read' &&
      (one.environment === '*' || one.environment === environment) &&
      (one.workspace === undefined || one.workspace === workspace),
  );
