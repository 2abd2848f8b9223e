import { isRecord } from '../../is-record.ts';
import { FleetError } from '../../errors.ts';
import { isName } from '../../names.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { MAX_SEALED_BYTES, type SecretSet } from './secret-set.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Pattern of a key of a set, as in a Kubernetes Secret. */
export const SECRET_KEY = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/;

/**
 * Whether a new key may have this name. Kubernetes refuses keys that begin with '..'; a set that is sealed already may have one, which a host
 * puts into a file.
 */
export const isSecretKey = (text: string): boolean => SECRET_KEY.test(text) && !text.startsWith('..');

/**
 * The plaintext of a sealed set. Messages name fields and keys, never a value. Errors have no cause, because messages of JSON
 * parsers quote the text. @throws FleetError SECRET_UNREADABLE
 */
export const parseSecretSet = (bytes: Uint8Array, what: string): SecretSet => {
  const value = read(bytes, what);
  if (!isRecord(value)) throw unreadable(what, 'it is not an object');
  const { fleet, site, name, version, values } = value;
  if (!isName(fleet) || !isName(site) || !isName(name))
    throw unreadable(what, 'it does not name fleet, site and set');
  if (!Number.isSafeInteger(version) || (version as number) < 1) throw unreadable(what, 'it has no version');
  if (!isRecord(values)) throw unreadable(what, 'it has no values');
  for (const [key, text] of Object.entries(values)) {
    if (!SECRET_KEY.test(key)) throw unreadable(what, 'one of its keys is not valid');
    if (typeof text !== 'string' || !BASE64.test(text))
      throw unreadable(what, `its key ${key} is not base64`);
  }
  return {
    fleet,
    site,
    name,
    version: version as number,
    values: values as SecretSet['values'],
  };
};

const read = (bytes: Uint8Array, what: string): unknown => {
  try {
    return parseStrictJson(bytes, { maxBytes: MAX_SEALED_BYTES, maxDepth: 4 }, what);
  } catch (error) {
    if (error instanceof FleetError) throw unreadable(what, 'it is not valid JSON');
    throw error;
  }
};

const unreadable = (what: string, why: string): FleetError =>
  new FleetError('SECRET_UNREADABLE', `${what} does not contain a secret set: ${why}`, {
    hint: 'Set it again with fleet-scheduler secrets set',
  });
