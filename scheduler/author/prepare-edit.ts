import { FleetError } from '#bundles/errors';
import { sourcesOf } from '../load/load-platform.ts';
import { checkEdit, type CheckOptions, type EditCheck } from './check/check-edit.ts';
import type { Layer } from './place/layer.ts';
import type { PlannedEdit } from './place/plan-edit.ts';
import { readLayers } from './place/read-layers.ts';

export type PreparedEdit = {
  /** Of the platform before the edit. */
  readonly layers: readonly Layer[];
  readonly edit: PlannedEdit;
  readonly check: EditCheck;
};

/**
 * Plans an edit of a platform on one snapshot, and checks what it does. Nothing is written: `saveEdit` does that.
 * @param plan chooses a layer and an edit (planNew, planChange, planText)
 * @throws FleetError what `plan` throws; PLATFORM_INVALID for a folder that is no platform; SOURCE_UNREACHABLE, SOURCE_MISSING, ABORTED
 */
export const prepareEdit = async (
  options: CheckOptions,
  plan: (layers: readonly Layer[]) => PlannedEdit,
): Promise<PreparedEdit> => {
  const sources = sourcesOf(options);
  const layers = await readLayers(options.platform, sources);
  const edit = plan(layers);
  return { layers, edit, check: await checkEdit({ ...options, sources }, edit) };
};

/** @throws FleetError the mistake that the platform would have, or PLATFORM_INVALID with several */
export const refuseMistakes = ({ edit, check }: PreparedEdit): void => {
  const { problems } = check;
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  throw new FleetError(
    'PLATFORM_INVALID',
    `with this change the platform has ${problems.length} mistakes; the first is ${first.code}: ${first.message}`,
    {
      subject: first.subject ?? edit.subject,
      at: first.at,
      cause: new AggregateError(problems, `${problems.length} mistakes`),
      hint: 'Nothing was written',
    },
  );
};
