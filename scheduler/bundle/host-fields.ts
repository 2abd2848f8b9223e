import { isSafeHostPath } from '#bundles/bundle/host-package';
import { type Digest, digestFromHex } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import { BAD, optional, type Reading, refuse, required, type Shape, text } from '../platform/yaml/shape.ts';

/** What several parts of a HostPackage write alike. */

/** A text that fits, or a mistake with what to write instead. */
export const textThat = (
  fits: (value: string) => boolean,
  mistake: string,
  hint: string,
  like: Shape<string> = text,
): Shape<string> => {
  return (node, path, reading) => {
    const value = like(node, path, reading);
    if (value === BAD || fits(value)) return value;
    return refuse(reading, node, `${path} ${JSON.stringify(value)} ${mistake}`, hint);
  };
};

export const hostPath = textThat(
  isSafeHostPath,
  'is no absolute path on a host',
  'Write it like /etc/app/app.conf, without . and ..',
);

export const mode = textThat(
  (value) => /^0[0-7]{3}$/.test(value),
  'is no file mode',
  'Write four octal digits in quotes, like "0640"',
);

/** Of a user or group. */
export const account = textThat(
  (value) => /^[a-z_][a-z0-9_-]{0,31}$/.test(value),
  'is no name of a user or group',
  'Write a name, not a number, like root or www-data',
);

export const owned = {
  path: required(hostPath),
  owner: optional(account, 'root'),
  group: optional(account, 'root'),
};

/** Names and passwords would stand in lock files, candidates and messages. */
const isWebAddress = (value: string): boolean => {
  const url = URL.parse(value);
  if (!url || !['https:', 'http:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.hash === '' && url.href.length <= 2048;
};

export const webAddress = textThat(
  isWebAddress,
  'is no address to fetch from',
  'Write it like https://files.example/model.bin, without user, password and fragment',
);

export const sha256: Shape<Digest> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  if (/^[0-9a-f]{64}$/.test(value)) return digestFromHex(value);
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no SHA-256`,
    'Write 64 hex digits in quotes, as sha256sum prints them',
  );
};

/** Puts a mistake on the list. */
export const refuseAt = (reading: Reading, at: Place, message: string, hint?: string): void => {
  reading.problems.push(
    new FleetError('FIELD_INVALID', message, {
      subject: reading.subject,
      at,
      ...(hint !== undefined && { hint }),
    }),
  );
};
