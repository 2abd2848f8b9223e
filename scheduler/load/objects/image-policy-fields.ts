import { isFleetError } from '#bundles/errors';
import { signatureKey } from '#bundles/trust/images/signature-key';
import {
  fields,
  narrowed,
  optional,
  refuse,
  required,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';

const MAX_PATTERN = 255;
const MAX_PATTERNS = 64;
const MAX_KEYS = 16;

/** After the host, an image name has neither upper case nor a tag. */
const imageName = textLike(
  /^(?!.*\*{3})[^/@\s]+(?:\/[a-z0-9._*/-]*)?$/,
  'is no pattern of image names',
  'Write host/repository without tag and digest; * stands for anything without a slash, ** for anything',
  { maxLength: MAX_PATTERN },
);

/** `**`, or a first part that is a registry's host or a pattern for one. */
const HOST = /^(?:\*\*$|(?:localhost|[^/]*[.:*][^/]*)\/)/;

/** Names are matched in normalized form, so 'nginx' would silently match nothing. */
const pattern = narrowed(imageName, { allOf: [{ pattern: HOST.source }] }, (value, node, path, reading) => {
  if (HOST.test(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} does not begin with a registry's host`,
    `Write it in full, like docker.io/library/${value}; ** alone stands for every image`,
  );
});

const key = narrowed(
  text,
  { pattern: '-----BEGIN [A-Z ]*PUBLIC KEY-----', maxLength: 4096 },
  (value, node, path, reading) => {
    try {
      return signatureKey(value).pem;
    } catch (error) {
      if (!isFleetError(error)) throw error;
      return refuse(reading, node, `${path}: ${error.message}`, error.hint);
    }
  },
);

/** The spec of an ImagePolicy: which images must be signed, and with which keys. */
export const imagePolicyFields = fields({
  match: required(
    shortList(pattern, MAX_PATTERNS, 1),
    'Image names, as `host/repository`. `*` stands for anything without a slash, `**` for anything.',
  ),
  except: optional(shortList(pattern, MAX_PATTERNS), [], 'Images that the policy leaves out.'),
  keys: required(
    shortList(key, MAX_KEYS, 1),
    'Public keys in PEM, ECDSA P-256 or RSA. The signature of one of them is enough.',
  ),
});
