import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { parseDocument } from '../../json/validate.ts';

/** Mode is four octal digits as text ('0640'); owner and group are names on the host. */
export type HostDirectory = {
  readonly path: string;
  readonly mode: string;
  readonly owner: string;
  readonly group: string;
};

export type HostFile = HostDirectory & {
  readonly digest: Digest;
  readonly size: number;
  /** Present when the file takes site inputs: the format in which the agent reads and writes it. */
  readonly format?: 'env' | 'json';
} & (
    | {
        /** Path of its bytes inside the package folder of the layer. */
        readonly content: string;
      }
    | {
        /** The content is the blob `digest` of the bundle's closure. */
        readonly blob: true;
      }
  );

/** A file below /run/ that the agent creates from a secret (docs/bundle-format.md section 16). */
export type HostSecret = HostDirectory &
  (
    | {
        /** A key of a sealed set of the site. */
        readonly set: string;
        readonly key: string;
      }
    | {
        /** A file in SOPS' binary form, inside the package folder of the layer. */
        readonly content: string;
        readonly digest: Digest;
        readonly size: number;
      }
  );

/** Entry of `critical` in documents that need a reader with support for secrets. */
export const SECRETS_CRITICAL = 'secrets';

/** Entry of `critical` where files are blobs of the closure: older readers would not deliver them. */
export const BLOBS_CRITICAL = 'blobs';

export type HostUnit = {
  readonly name: string;
  readonly enabled: boolean;
  readonly active: boolean;
  /** Restarted when one of these files, or the unit's own file, changed. */
  readonly restartOn: readonly string[];
};

export type HostCheck =
  | { readonly type: 'unit'; readonly name: string; readonly unit: string; readonly stableSeconds: number }
  | {
      readonly type: 'exec';
      readonly name: string;
      readonly argv: readonly string[];
      readonly timeoutSeconds: number;
    }
  | {
      readonly type: 'http';
      readonly name: string;
      readonly url: string;
      readonly status: number;
      readonly timeoutSeconds: number;
    };

export const HOST_PACKAGE = 'package.json';

/** package.json of a host package: final, everything resolved (docs/bundle-format.md section 5). */
export type HostPackage = {
  readonly id: string;
  readonly directories: readonly HostDirectory[];
  readonly files: readonly HostFile[];
  readonly secrets?: readonly HostSecret[];
  readonly units: readonly HostUnit[];
  readonly checks: readonly HostCheck[];
  readonly critical: readonly string[];
};

/** Absolute paths below the root without empty, '.' and '..' components. */
// oxlint-disable-next-line no-control-regex
export const SAFE_HOST_PATH = /^(?:\/(?!\.{0,2}(?:\/|$))[^/\u0000]+)+$/;

export const isSafeHostPath = (path: string): boolean => SAFE_HOST_PATH.test(path);

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME */
export const parseHostPackage = (bytes: Uint8Array): HostPackage => {
  const what = 'host package';
  const parsed = parseDocument<HostPackage>(
    'host-package',
    parseStrictJson(bytes, { maxBytes: 8 << 20 }, what),
    what,
  );
  const paths = [
    ...[...parsed.directories, ...parsed.files, ...(parsed.secrets ?? [])].map((entry) => entry.path),
    // `content` is a path in the unpacked layer and must not leave it.
    ...[...parsed.files, ...(parsed.secrets ?? [])].flatMap((it) =>
      'content' in it ? `/${it.content}` : [],
    ),
  ];
  const unsafe = paths.find((path) => !isSafeHostPath(path));
  if (unsafe !== undefined)
    throw new FleetError('BAD_NAME', `${what} ${parsed.id} names the unsafe path ${JSON.stringify(unsafe)}`);
  return parsed;
};
