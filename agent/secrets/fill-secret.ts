import { FleetError } from '#bundles/errors';
import { SECRET_KEYS, SECRET_SET } from '#bundles/trust/secrets/annotations';
import { isRecord } from '#bundles/is-record';
import { type PackageSecrets, secretSet, secretValue } from '../model/package-secrets.ts';

type Fields = { readonly [field: string]: unknown };

/**
 * Returns a Secret whose annotation names a sealed set with the data of that set (docs/bundle-format.md section 16), or
 * undefined for an object without the annotation.
 * @throws FleetError SECRET_MISSING, OBJECT_INVALID; messages name sets and keys, never values
 */
export const fillSecret = (
  object: Fields,
  secrets: PackageSecrets | undefined,
  place: string,
): Fields | undefined => {
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  const name = annotations[SECRET_SET];
  if (name === undefined) return undefined;
  const who = `Secret ${String(metadata['name'])} in ${place}`;
  const invalid = (why: string): FleetError =>
    new FleetError('OBJECT_INVALID', `${who} ${why}`, { at: { file: place } });
  if (object['kind'] !== 'Secret' || object['apiVersion'] !== 'v1')
    throw invalid(`has the annotation ${SECRET_SET} and is not a v1 Secret`);
  if (typeof name !== 'string') throw invalid(`names a secret set that is not text`);
  if (object['data'] !== undefined || object['stringData'] !== undefined)
    throw invalid('has data of its own beside a secret set');
  const { values } = secretSet(secrets, name, who);
  const parts = partsOf(annotations[SECRET_KEYS], Object.keys(values));
  if (!parts) throw invalid(`has an annotation ${SECRET_KEYS} that lists no keys`);
  const data = parts.map(
    ([key, from]) => [key, secretValue(secrets, name, from, who).toString('base64')] as const,
  );
  return { ...object, data: Object.fromEntries(data) };
};

type Part = readonly [key: string, from: string];

/** Parses a comma-separated list of '<key>' or '<key in the Secret>=<key of the set>'; undefined if it is invalid. */
const partsOf = (text: unknown, all: readonly string[]): readonly Part[] | undefined => {
  if (text === undefined) return all.map((key) => [key, key]);
  if (typeof text !== 'string' || text.trim() === '') return undefined;
  const parts = text.split(',').map((part): Part => {
    const [key = '', from = key, ...rest] = part.trim().split('=');
    return rest.length > 0 ? ['', ''] : [key.trim(), from.trim()];
  });
  return parts.every(([key, from]) => key !== '' && from !== '') ? parts : undefined;
};
