import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Template } from '../model.ts';
import { ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';

/** Beside the code, so that they are found wherever it is installed. */
const FOLDER = join(import.meta.dirname, '../../templates');

let known: readonly Template[] | undefined;

/**
 * Templates every platform has, so that a cluster type can name them at once (docs/reconcilers.md). Each is a Template
 * object in a file of its own: to change one, copy the file into the platform, where one of the same name replaces it. They are
 * Go templates only because that engine has all that they need.
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
