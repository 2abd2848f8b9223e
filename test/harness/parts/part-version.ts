import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runCommand } from '../run/run-command.ts';
import { NEWER } from './debian-root.ts';
import type { Machine, Part } from './part.ts';

/**
 * The version of a part at its path: of its own, of its folder in the cache, or of the Debian package that has the file. 'not known' for anything
 * that a person named by the environment.
 */
export const partVersion = async (part: Part, path: string, machine: Machine): Promise<string> => {
  if (machine.env[part.variable] && machine.env[part.variable] !== part.find({ ...machine, env: {} }))
    return 'not known';
  const own = part.version?.(machine);
  if (own !== undefined) return own;
  const [, folder = ''] = relative(machine.cache, path).split('/');
  if (path.startsWith(`${machine.cache}/`)) return debianOf(path) ?? versionIn(folder);
  return (await packageVersion(path)) ?? 'not known';
};

/** 'go-v3.22.0' and '1.35.4-<hash>' hold a version, a hash alone holds none. */
const versionIn = (folder: string): string => {
  const bare = folder.replace(/^(?:go-)?v(?=\d)/, '').replace(/-[0-9a-f]{12}$/, '');
  return /^[0-9a-f]{12}$/.test(bare) ? 'not known' : bare;
};

/** Programs of a booted host whose versions matter to what we put on it. */
const OF_HOST = ['systemd', 'apt', 'ansible-core', 'podman', 'containerd'];

/** Of the root of a Debian system, with its programs: 'Debian 13.1, systemd 257.8, podman 5.4.2'. */
const debianOf = (path: string): string | undefined => {
  const file = join(path, 'etc/debian_version');
  if (!existsSync(file)) return undefined;
  const packages = [NEWER, 'var/lib/dpkg/status'].flatMap((status) =>
    existsSync(join(path, status)) ? readFileSync(join(path, status), 'utf8').split('\n\n') : [],
  );
  const programs = OF_HOST.flatMap((name) => {
    const own = packages.find((one) => one.startsWith(`Package: ${name}\n`));
    const [, version] = /^Version: (?:\d+:)?([\d.]*\d)/m.exec(own ?? '') ?? [];
    return version === undefined ? [] : [`${name} ${version}`];
  });
  return [`Debian ${readFileSync(file, 'utf8').trim()}`, ...programs].join(', ');
};

const packageVersion = async (path: string): Promise<string | undefined> => {
  const owner = await runCommand(['dpkg', '--search', realpathSync(path)]);
  const [name] = owner.stdout.split(':');
  if (owner.code !== 0 || !name) return undefined;
  const { code, stdout } = await runCommand(['dpkg-query', '--show', '--showformat=${Version}', name]);
  return code === 0 ? stdout : undefined;
};
