import { isFleetError } from '#bundles/errors';
import { signatureKey } from '#bundles/trust/images/signature-key';
import { MAX_TRUSTED_ROOT, parseTrustedRoot } from '#bundles/trust/images/trusted-root';
import {
  fields,
  narrowed,
  optional,
  refuse,
  required,
  type Shape,
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
  'is not a pattern of image names',
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

const names = shortList(pattern, MAX_PATTERNS);
const namesOrAll = shortList(pattern, MAX_PATTERNS, 1);

const predicateType = textLike(
  /^https?:\/\/[^\s/]+\/\S*$/,
  'is not a predicate type',
  'Write the address in the statement, like https://spdx.dev/Document',
  { maxLength: MAX_PATTERN },
);

const trustedRoot = narrowed(
  text,
  { pattern: '^\\s*\\{[\\s\\S]*"mediaType"[\\s\\S]*\\}\\s*$', maxLength: MAX_TRUSTED_ROOT },
  (value, node, path, reading) => {
    try {
      return parseTrustedRoot(value);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      return refuse(reading, node, `${path}: ${error.message}`, error.hint);
    }
  },
);

const issuer = textLike(
  /^https?:\/\/[^\s*]+$/,
  'is not the address of an issuer',
  'Write the address that cosign verify takes as --certificate-oidc-issuer',
  { maxLength: 1024 },
);

const identity = textLike(
  /^(?!.*\*{3})(?!(?:https?:\/\/)?[*/:.]*$)\S+$/,
  'is not an identity',
  'Write the address or mail address in the certificate; * stands for anything without a slash, ** for anything',
  { maxLength: 1024 },
);

const signer = fields({
  issuer: required(issuer, 'Issuer of the identity, as `cosign verify --certificate-oidc-issuer` takes it.'),
  identity: required(
    identity,
    'Address or mail address that the certificate is for. `*` stands for anything without a slash, `**` for anything.',
  ),
});

const certificates = fields({
  trustedRoot: required(
    trustedRoot,
    "The text of sigstore's trusted_root.json: authorities and logs that certificates, log entries and timestamps are verified with. It travels in the bundle.",
  ),
  signers: required(
    shortList(signer, MAX_KEYS, 1),
    'Signers, each by issuer and identity. A signature with a certificate of one of them is enough.',
  ),
});

const signers = {
  keys: optional(
    shortList(key, MAX_KEYS),
    [],
    'Public keys in PEM, ECDSA P-256 or RSA. The signature of one of them is enough.',
  ),
  certificates: optional(
    certificates,
    undefined,
    'Signers by certificate, without a key of their own: `cosign` without `--key`. A signature by one of them is enough, too.',
  ),
};

/** At least one signer, by key or by certificate. */
const withSigner = <T extends { readonly keys: readonly string[]; readonly certificates?: unknown }>(
  signed: Shape<T>,
): Shape<T> =>
  narrowed(
    signed,
    { anyOf: [{ required: ['keys'] }, { required: ['certificates'] }] },
    (spec, node, path, reading) =>
      spec.keys.length > 0 || spec.certificates
        ? spec
        : refuse(
            reading,
            node,
            `${path} names nobody who may sign`,
            'List keys, or certificates with trustedRoot and signers',
          ),
  );

/** The spec of an ImagePolicy: which images must be signed, and by which keys or certificates. */
export const imagePolicyFields = withSigner(
  fields({
    match: required(
      namesOrAll,
      'Image names, as `host/repository`. `*` stands for anything without a slash, `**` for anything.',
    ),
    except: optional(names, [], 'Images that the policy leaves out.'),
    ...signers,
  }),
);

/** An attestation that a PromotionPolicy wants beside images. */
export const attestationFields = withSigner(
  fields({
    type: required(predicateType, 'Predicate type of the attestation, as in its statement.'),
    match: optional(
      namesOrAll,
      ['**'],
      'Images that must have it, as `host/repository` with `*` and `**`. Without it all.',
    ),
    except: optional(names, [], 'Images that need none.'),
    ...signers,
  }),
);
