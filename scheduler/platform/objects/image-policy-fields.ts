import { isFleetError } from '#bundles/errors';
import { signatureKey } from '#bundles/signatures/signature-key';
import { BAD, fields, list, optional, refuse, required, type Shape, text } from '../yaml/shape.ts';

const MAX_PATTERN = 255;
const MAX_PATTERNS = 64;
const MAX_KEYS = 16;

/** The part before the first slash, where it is a registry's host or may stand for one. */
const HOST = /^(?:localhost|[^/]*[.:*][^/]*)\//;

/** What no name of an image has behind its host: upper case, a tag. */
const REPOSITORY = /^[^/]*(?:\/[a-z0-9._*/-]*)?$/;

/** Names are matched in their normal form, so 'nginx' would match nothing and nobody would know. */
const pattern: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  if (/[@\s]|\*{3}/.test(value) || !REPOSITORY.test(value) || value.length > MAX_PATTERN || value === '') {
    return refuse(
      reading,
      node,
      `${path} ${JSON.stringify(value.slice(0, MAX_PATTERN))} is no pattern of image names`,
      'Write host/repository without tag and digest; * stands for anything without a slash, ** for anything',
    );
  }
  if (value === '**' || HOST.test(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} does not begin with a registry's host`,
    `Write it in full, like docker.io/library/${value}; ** alone stands for every image`,
  );
};

const some =
  <T>(shape: Shape<T>, most: number, least: number): Shape<readonly T[]> =>
  (node, path, reading) => {
    const read = list(shape)(node, path, reading);
    if (read === BAD) return BAD;
    if (read.length < least) return refuse(reading, node, `${path} is empty`);
    return read.length <= most ? read : refuse(reading, node, `${path} has more than ${most} entries`);
  };

const key: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  try {
    return signatureKey(value).pem;
  } catch (error) {
    if (!isFleetError(error)) throw error;
    return refuse(reading, node, `${path}: ${error.message}`, error.hint);
  }
};

/** An ImagePolicy's spec: which images must be signed, and by whose keys. */
export const imagePolicyFields = fields({
  match: required(some(pattern, MAX_PATTERNS, 1)),
  except: optional(some(pattern, MAX_PATTERNS, 0), []),
  keys: required(some(key, MAX_KEYS, 1)),
});
