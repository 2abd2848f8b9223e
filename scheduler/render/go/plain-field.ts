import type { TextField } from '../watch-context.ts';
import type { Pipe } from './ast.ts';

const TEXT_FIELDS: ReadonlyMap<string, TextField> = new Map([
  ['DeploymentTargetName', 'deploymentTargetName'],
  ['Namespace', 'namespace'],
  ['Environment', 'environment'],
  ['Workspace', 'workspace'],
  ['Workload', 'workload'],
  ['ClusterType', 'clusterType'],
]);

/** The text of the context that `{{ .Field }}` or `{{ $.Field }}` prints as it is; undefined for every other action. */
export const plainField = ({
  variables,
  commands: [{ words }, ...more],
}: Pipe): { readonly field: TextField; readonly fromRoot: boolean } | undefined => {
  const [word, ...rest] = words;
  if (variables.length > 0 || more.length > 0 || rest.length > 0) return undefined;
  const fromRoot = word.kind === 'variable' && word.slot === 0;
  if (word.kind !== 'field' && !fromRoot) return undefined;
  const [name, ...deeper] = word.path;
  const field = name && deeper.length === 0 ? TEXT_FIELDS.get(name.name) : undefined;
  return field && { field, fromRoot };
};
