import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { Wanted } from '../desired/read-wanted.ts';
import { type HostTargetOptions, whyInert } from '../host-options.ts';

/** Podman's systemd generator makes a service of each file here at a daemon-reload (podman-systemd.unit(5)). */
const FOLDER = '/etc/containers/systemd/';

/** Suffix that the generator appends to the name of the service, by the extension of the file. */
const ADDED: Readonly<Record<string, string>> = {
  '.container': '',
  '.kube': '',
  '.volume': '-volume',
  '.network': '-network',
  '.pod': '-pod',
  '.image': '-image',
  '.build': '-build',
};

/** 'web.service' for /etc/containers/systemd/web.container; undefined for a path that is no quadlet. */
export const serviceOfQuadlet = (path: string): string | undefined => {
  if (!path.startsWith(FOLDER)) return undefined;
  const suffix = posix.extname(path);
  const added = Object.hasOwn(ADDED, suffix) ? ADDED[suffix] : undefined;
  if (added === undefined) return undefined;
  const name = posix.basename(path, suffix);
  // 'web@.container' is a template, and stays one.
  return name.endsWith('@') ? `${name.slice(0, -1)}${added}@.service` : `${name}${added}.service`;
};

/** The quadlet that a drop-in below FOLDER belongs to: 'web.container.d/10-port.conf' -> 'web.container'. */
export const quadletOfDropIn = (path: string): string | undefined => {
  const folder = posix.dirname(path);
  return path.startsWith(FOLDER) && path.endsWith('.conf') && folder.endsWith('.d')
    ? folder.slice(0, -'.d'.length)
    : undefined;
};

const GENERATORS = [
  '/usr/local/lib/systemd/system-generators/podman-system-generator',
  '/usr/lib/systemd/system-generators/podman-system-generator',
  '/lib/systemd/system-generators/podman-system-generator',
];

/**
 * Refuses quadlets on a host whose Podman has no generator: systemd would never see their services. A package that installs Podman
 * itself is not refused.
 * @throws FleetError TOOL_MISSING
 */
export const requireGenerator = (options: HostTargetOptions, wanted: Wanted | undefined): void => {
  if (!wanted || whyInert(options) !== undefined) return;
  const path = [...wanted.files.keys()].find((one) => serviceOfQuadlet(one) !== undefined);
  if (path === undefined || GENERATORS.some((one) => existsSync(join(options.root, one)))) return;
  if (wanted.install?.packages.some(({ name }) => name === 'podman')) return;
  throw new FleetError(
    'TOOL_MISSING',
    `${path} needs Podman 4.4 or newer, whose systemd generator this host lacks`,
    {
      hint: 'Install it (Debian 13 has it, Debian 12 has Podman 4.3), or write a unit that runs podman',
    },
  );
};
