import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';

const FILE = join(import.meta.dirname, '../../../docs/schemas/author/platform.schema.json');

/** The schema of all kinds, which selects by apiVersion and kind. */
export const ALL_KINDS = 'platform';

type AllKinds = {
  readonly $schema: string;
  readonly $id: string;
  readonly $defs: Readonly<Record<string, object>>;
};

/**
 * The text of a published author schema. Only the schema of all kinds is installed; the schema of one kind is taken from its `$defs`.
 * @param name like cluster-type or kalypso-workload
 * @throws FleetError USAGE for an unknown name
 */
export const readAuthorSchema = async (name: string): Promise<string> => {
  const text = await readFile(FILE, 'utf8');
  if (name === ALL_KINDS) return text;
  const { $schema, $id, $defs } = JSON.parse(text) as AllKinds;
  const names = [ALL_KINDS, ...Object.keys($defs)].toSorted(compareBytes);
  if (names.includes(name)) {
    const schema = { $schema, $id: $id.replace(`:${ALL_KINDS}:`, `:${name}:`), ...$defs[name] };
    return `${JSON.stringify(schema, null, 2)}\n`;
  }
  throw new FleetError('USAGE', `there is no schema ${JSON.stringify(name)}`, {
    hint: `${didYouMean(name, names) ?? ''}There are ${names.join(', ')}`,
  });
};
