import { FleetError } from '../../errors.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { parseAs } from '../../json/parse-as.ts';
import { HOST_PACKAGE as SCHEMA } from '../../json/schema/validators.js';
import type { HostPackage } from '../../schemas/types/host-package.ts';

/** package.json of a host package, and its parts (docs/bundle-format.md section 5). */
export type { HostPackage } from '../../schemas/types/host-package.ts';
export type HostDirectory = HostPackage['directories'][number];
export type HostFile = HostPackage['files'][number];
/** A file below /run/ that the agent creates from a secret (docs/bundle-format.md section 16). */
export type HostSecret = NonNullable<HostPackage['secrets']>[number];
export type HostUnit = HostPackage['units'][number];
export type HostPlaybook = NonNullable<HostPackage['playbooks']>[number];
/** Checks that came later: in package.json they have a list of their own, which older agents refuse by its name in `critical`. */
export type HostProbe = NonNullable<HostPackage['probes']>[number];
export type HostCheck = HostPackage['checks'][number] | HostProbe;
/** Debian packages to install from a repository that the package places. */
export type HostInstall = NonNullable<HostPackage['install']>;
/** A Debian package of the repository, at the one version that the repository has of it. */
export type HostDeb = HostInstall['packages'][number];
/** A RAUC bundle: a system image for the slots of the host. */
export type HostRauc = NonNullable<HostPackage['rauc']>;
/** Programs that run as root when the version of a Debian package changes. Paths are entries of `files`. */
export type HostHook = NonNullable<HostInstall['hooks']>[number];

/** Entry of `critical` in documents that need a reader with support for secrets. */
export const SECRETS_CRITICAL = 'secrets';

/** Entry of `critical` where files are blobs of the closure: older readers would not deliver them. */
export const BLOBS_CRITICAL = 'blobs';

/** Entry of `critical` where quadlets run images of the closure: older agents would start them without their images. */
export const IMAGES_CRITICAL = 'images';

/** Entry of `critical` in packages that install Debian packages: older readers would only place the repository. */
export const DEBS_CRITICAL = 'debs';

/** Entry of `critical` in package.json of packages with playbooks: older agents would leave them out. */
export const PLAYBOOKS_CRITICAL = 'playbooks';

/** Entry of `critical` in package.json of packages with probes: older agents would not perform them. */
export const PROBES_CRITICAL = 'probes';

/** Entry of `critical` in package.json of packages with a RAUC bundle: older agents would not install it. */
export const RAUC_CRITICAL = 'rauc';

export const HOST_PACKAGE = 'package.json';

/** Absolute paths below the root without empty, '.' and '..' components. */
// oxlint-disable-next-line no-control-regex
export const SAFE_HOST_PATH = /^(?:\/(?!\.{0,2}(?:\/|$))[^/\u0000]+)+$/;

export const isSafeHostPath = (path: string): boolean => SAFE_HOST_PATH.test(path);

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME */
export const parseHostPackage = (bytes: Uint8Array): HostPackage => {
  const what = 'host package';
  const parsed = parseAs(SCHEMA, parseStrictJson(bytes, { maxBytes: 8 << 20 }, what), what);
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
  for (const probe of parsed.probes ?? []) if ('path' in probe) paths.push(probe.path);
  for (const { folder, playbook } of parsed.playbooks ?? []) paths.push(folder, `/${playbook}`);
  const unsafe = paths.find((path) => !isSafeHostPath(path));
  if (unsafe !== undefined)
    throw new FleetError('BAD_NAME', `${what} ${parsed.id} names the unsafe path ${JSON.stringify(unsafe)}`);
  return parsed;
};
