import { FleetError } from '../bundles/errors.ts';
import { installPart, type PartName, partTitle, thisMachine } from '../test/harness/parts.ts';

/** The path of a part, installed if it is not here. @throws FleetError TOOL_MISSING */
export const gatherPart = async (name: PartName): Promise<string> => {
  const found = await installPart(name, thisMachine(), (source) =>
    process.stdout.write(`${partTitle(name)}: getting ${source} ...\n`),
  );
  if (found.present) return found.path;
  throw new FleetError('TOOL_MISSING', `this benchmark needs ${partTitle(name)}: ${found.reason}`);
};
