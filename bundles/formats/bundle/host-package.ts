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

/** Entry of `critical` where quadlets run images of the closure: older agents would start them without their images. */
export const IMAGES_CRITICAL = 'images';

/** Entry of `critical` in packages that install Debian packages: older readers would only place the repository. */
export const DEBS_CRITICAL = 'debs';

/** A Debian package of the repository, at the one version that the repository has of it. */
export type HostDeb = {
  readonly name: string;
  readonly version: string;
  /** Installed only when another one needs it. */
  readonly asDependency?: true;
  /** On hold (apt-mark(8)): apt and people at the host do not upgrade it by accident. */
  readonly hold?: true;
  /** A newer version that the host has is left as it is; agents that do not know this go back to `version`. */
  readonly atLeast?: true;
  /** Taken over from the administrator of the host where it is installed already. */
  readonly adopt?: true;
};

/** Programs that run as root when the version of a Debian package changes. Paths are entries of `files`. */
export type HostHook = {
  /** A Debian package of `packages`. */
  readonly package: string;
  /** Runs before an upgrade: a dump. */
  readonly before?: string;
  /** Runs after an installation or upgrade: a migration. */
  readonly after?: string;
  /** Runs after a rollback to an older version, to restore the data that `before` saved. */
  readonly restore?: string;
  /** Limit of each run. */
  readonly timeoutSeconds: number;
};

/** Debian packages to install from a repository that the package places (docs/bundle-format.md section 5). */
export type HostInstall = {
  /** Folder of the apt repository; its files are in `files`. */
  readonly repository: string;
  /** Everything that the repository has, sorted by name. */
  readonly packages: readonly HostDeb[];
  /** Handling of a conffile that was changed both on the host and in the Debian package. */
  readonly conffiles: 'keep' | 'replace';
  readonly debconf?: readonly {
    readonly package: string;
    readonly question: string;
    readonly type: string;
    readonly value: string;
  }[];
  /** 'purge' also removes conffiles and what maintainer scripts remove on purge. */
  readonly onRemoval: 'remove' | 'purge';
  /** 'leave': maintainer scripts neither start nor stop services. */
  readonly services: 'start' | 'leave';
  readonly hooks?: readonly HostHook[];
};

export type HostUnit = {
  readonly name: string;
  readonly enabled: boolean;
  readonly active: boolean;
  /** Restarted when one of these files, or the unit's own file, changed. */
  readonly restartOn: readonly string[];
};

/** A playbook that the agent runs on the host. All paths but `playbook` are entries of `files` or `secrets`. */
export type HostPlaybook = {
  readonly name: string;
  /** Folder of the playbook on the host. The agent runs it from a verified copy of `files`. */
  readonly folder: string;
  /** Path of the playbook below `folder`. */
  readonly playbook: string;
  readonly files: readonly string[];
  /** A JSON object with the playbook's variables. */
  readonly variables?: string;
  readonly collections: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly path: string;
  }[];
  readonly roles: readonly { readonly name: string; readonly path: string }[];
  readonly vaultPassword?: string;
  /** False: a task that asks for another user fails. */
  readonly become: boolean;
  readonly order: 'before-units' | 'after-units';
  readonly timeoutSeconds: number;
  /** Seconds between two checks for drift; 0: no checks. */
  readonly checkSeconds: number;
};

/** Entry of `critical` in package.json of packages with playbooks: older agents would leave them out. */
export const PLAYBOOKS_CRITICAL = 'playbooks';

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
    }
  | HostProbe;

/** Checks that came later: in package.json they have a list of their own, which older agents refuse by its name in `critical`. */
export type HostProbe =
  | {
      readonly type: 'tcp';
      readonly name: string;
      readonly host: string;
      readonly port: number;
      readonly timeoutSeconds: number;
    }
  | {
      readonly type: 'file';
      readonly name: string;
      readonly path: string;
      readonly maxAgeSeconds: number;
      readonly timeoutSeconds: number;
    };

/** Entry of `critical` in package.json of packages with probes: older agents would not perform them. */
export const PROBES_CRITICAL = 'probes';

export const HOST_PACKAGE = 'package.json';

/** package.json of a host package: final, everything resolved (docs/bundle-format.md section 5). */
export type HostPackage = {
  readonly id: string;
  readonly directories: readonly HostDirectory[];
  readonly files: readonly HostFile[];
  readonly secrets?: readonly HostSecret[];
  readonly units: readonly HostUnit[];
  /** In the order in which they run. */
  readonly playbooks?: readonly HostPlaybook[];
  readonly checks: readonly Exclude<HostCheck, HostProbe>[];
  readonly probes?: readonly HostProbe[];
  readonly install?: HostInstall;
  /** Images of the closure that its quadlets run, 'host/repo@sha256:...', sorted. */
  readonly images?: readonly string[];
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
    ...(parsed.install ? [parsed.install.repository] : []),
    ...(parsed.install?.hooks ?? []).flatMap(({ before, after, restore }) =>
      [before, after, restore].filter((path) => path !== undefined),
    ),
    // `content` is a path in the unpacked layer and must not leave it.
    ...[...parsed.files, ...(parsed.secrets ?? [])].flatMap((it) =>
      'content' in it ? `/${it.content}` : [],
    ),
  ];
  for (const probe of parsed.probes ?? []) if (probe.type === 'file') paths.push(probe.path);
  for (const { folder, playbook } of parsed.playbooks ?? []) paths.push(folder, `/${playbook}`);
  const unsafe = paths.find((path) => !isSafeHostPath(path));
  if (unsafe !== undefined)
    throw new FleetError('BAD_NAME', `${what} ${parsed.id} names the unsafe path ${JSON.stringify(unsafe)}`);
  return parsed;
};
