import { SAFE_HOST_PATH } from '#bundles/formats/bundle/host-package';
import { type Digest, digestFromHex } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import {
  BAD,
  between,
  narrowed,
  optional,
  type Reading,
  refuse,
  required,
  type Shape,
  shape,
  text,
  textLike,
} from '../../model/yaml/shape.ts';

/** Shapes that several parts of a HostPackage share. */

export const hostPath = textLike(
  SAFE_HOST_PATH,
  'is not an absolute path on a host',
  'Write it like /etc/app/app.conf, without . and ..',
);

export const mode = textLike(
  /^0[0-7]{3}$/,
  'is not a file mode',
  'Write four octal digits in quotes, like "0640"',
);

/** Time that something may take: at most a day. */
export const seconds = between(1, 86_400);

/** Name of a user or group. */
export const account = textLike(
  /^[a-z_][a-z0-9_-]{0,31}$/,
  'is not the name of a user or group',
  'Write a name, not a number, like root or www-data',
);

export const owned = {
  path: required(hostPath, 'Absolute path on the host.'),
  owner: optional(account, 'root', 'User that owns it.'),
  group: optional(account, 'root', 'Group that it belongs to.'),
};

const WEB_ADDRESS = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/?@#\s]+(?:[/?][^#\s]*)?$/;

/** Refuses user names and passwords: they would get into lock files, candidates and messages. */
const isWebAddress = (value: string): boolean => {
  const url = URL.parse(value);
  if (!url || !WEB_ADDRESS.test(value)) return false;
  return url.username === '' && url.password === '' && url.href.length <= 2048;
};

export const webAddress = narrowed(
  text,
  { pattern: WEB_ADDRESS.source, maxLength: 2048 },
  (value, node, path, reading) => {
    if (isWebAddress(value)) return value;
    const hint = 'Write it like https://files.example/model.bin, without user, password and fragment';
    return refuse(reading, node, `${path} ${JSON.stringify(value)} is not an address to fetch from`, hint);
  },
);

const SHA256 = /^[0-9a-f]{64}$/;

export const sha256: Shape<Digest> = shape(
  { ...text.schema, pattern: SHA256.source },
  (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    if (SHA256.test(value)) return digestFromHex(value);
    return refuse(
      reading,
      node,
      `${path} ${JSON.stringify(value)} is not a SHA-256`,
      'Write 64 hex digits in quotes, as sha256sum prints them',
    );
  },
);

/** Reports a mistake at a place. */
export const refuseAt = (reading: Reading, at: Place, message: string, hint?: string): void => {
  reading.problems.push(
    new FleetError('FIELD_INVALID', message, {
      subject: reading.subject,
      at,
      hint,
    }),
  );
};
