import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';

const FOLDER = join(import.meta.dirname, '../../../docs/schemas/author/');
const SUFFIX = '.schema.json';

/** The schema of all kinds, which selects by apiVersion and kind. */
export const ALL_KINDS = 'platform';

/**
 * The text of a published author schema.
 * @param name like cluster-type or kalypso-workload
 * @throws FleetError USAGE for an unknown name
 */
export const readAuthorSchema = async (name: string): Promise<string> => {
  const names = (await readdir(FOLDER)).map((file) => file.replace(SUFFIX, '')).toSorted(compareBytes);
  if (names.includes(name)) return await readFile(join(FOLDER, `${name}${SUFFIX}`), 'utf8');
  throw new FleetError('USAGE', `there is no schema ${JSON.stringify(name)}`, {
    hint: `${didYouMean(name, names) ?? ''}There are ${names.join(', ')}`,
  });
};
