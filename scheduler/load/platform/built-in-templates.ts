import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Template } from '../../model/model.ts';
import { ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';

/** Next to the code, so that any installation includes them. */
const FOLDER = join(import.meta.dirname, '../templates');

let known: readonly Template[] | undefined;

/**
 * Templates that every platform has, for cluster types to name (docs/reconcilers.md). Each is a Template object in its own
 * file; a platform overrides it with a Template of the same name. They are Go templates because only that engine has the
 * functions they need.
 */
export const builtInTemplates = (): readonly Template[] => {
  known ??= readTemplates();
  return known;
};

const readTemplates = (): readonly Template[] => {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .toSorted(compareBytes)
    .map((name) => ({ path: name, bytes: readFileSync(join(FOLDER, name)) }));
  const problems: FleetError[] = [];
  const objects = readObjects({ prefix: 'built-in ', files }, problems, 'refused');
  if (problems.length > 0)
    throw new FleetError('INTERNAL', 'a built-in template is wrong', { cause: problems[0] });
  return ofKind(objects, 'Template').map(({ template }) => template);
};
