import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { aptForRoot } from './apt-for-root.ts';
import { type AptSource, formatAptSource, readAptSource } from './apt-source.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { factoryBase } from './factory-base.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

/** Services that stand for what factories run; the mirror has all that a factory host lacks for them. */
export const SERVICES = ['chrony', 'mosquitto', 'nginx', 'openssh-server', 'postgresql-15'] as const;

const SUITES = [
  { folder: 'debian', suite: 'bookworm', suffix: '' },
  { folder: 'debian-security', suite: 'bookworm-security', suffix: '-security' },
] as const;

/** apt's sources for the mirror at `root`. Its signature on the index of security is only valid for a week. */
export const mirrorSources = (root: string, updates: boolean): string =>
  SUITES.filter(({ suffix }) => updates || suffix === '')
    .map(
      ({ folder, suite }) =>
        `${formatAptSource({ uri: `file:${root}/${folder}`, signedBy: KEYRING }, suite)}Check-Valid-Until: no\nTargets: Packages\n`,
    )
    .join('\n');

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const family = ({ cache }: Machine): string => join(cache, 'debian-mirror');
const VERSION = createHash('sha256')
  .update(JSON.stringify([SERVICES, SUITES]))
  .digest('hex')
  .slice(0, 12);

/**
 * A mirror of Debian for programs without a network: the whole signed index of a release and of its security updates, and the
 * packages that the services need on a factory host, with and without the updates.
 */
export const debianMirror: Part = {
  title: 'Debian mirror',
  variable: 'FLEET_DEBIAN_MIRROR',
  source: `apt-get download of ${SERVICES.join(', ')} and what they need, 100 MB`,
  find: (machine) => {
    const found = newestVersion(family(machine), ['mirror']);
    return found?.includes(VERSION) ? found : undefined;
  },
  install: async (machine) => {
    const base = factoryBase.find(machine) ?? (await factoryBase.install(machine));
    const source = readAptSource();
    await mkdir(family(machine), { recursive: true });
    await buildVersion(family(machine), async (temporary) => {
      await using work = await temporaryDirectory('mirror');
      for (const updates of [false, true])
        await orExplain('apt could not download the packages', () =>
          fetchInto(join(temporary, 'mirror'), { source, base, updates, work: work.path, machine }),
        );
      return VERSION;
    });
    return join(family(machine), VERSION, 'mirror');
  },
};

type Fetching = {
  readonly source: AptSource;
  readonly base: string;
  readonly updates: boolean;
  readonly work: string;
  readonly machine: Machine;
};

const fetchInto = async (
  mirror: string,
  { source, base, updates, work, machine }: Fetching,
): Promise<void> => {
  const at = join(work, updates ? 'updates' : 'release');
  const apt = await aptForRoot({ base, at, machine });
  const used = SUITES.filter(({ suffix }) => updates || suffix === '');
  const uriOf = (suffix: string): string => `${source.uri.replace(/\/$/, '')}${suffix}`;
  const sources = used.map(({ suite, suffix }) => formatAptSource({ ...source, uri: uriOf(suffix) }, suite));
  await writeFile(join(at, 'etc/debian.sources'), sources.join('\n'));
  await apt('update', '--error-on=any');
  const lists = await readdir(join(at, 'lists'));
  for (const { folder, suite } of used) {
    const index = join(mirror, folder, 'dists', suite);
    for (const [end, to] of [
      [`${suite}_InRelease`, 'InRelease'],
      [`${suite}_main_binary-amd64_Packages.xz`, 'main/binary-amd64/Packages.xz'],
    ] as const) {
      const name = lists.find((it) => it.endsWith(`_dists_${end}`));
      await mkdir(dirname(join(index, to)), { recursive: true });
      if (name !== undefined) await copyFile(join(at, 'lists', name), join(index, to));
    }
  }
  const { stdout } = await apt('--print-uris', 'install', ...SERVICES);
  await apt('--download-only', 'install', ...SERVICES);
  for (const [, url = '', file = ''] of stdout.matchAll(/^'([^']+)' (\S+) /gm)) {
    const suite = used.findLast(({ suffix }) => url.startsWith(`${uriOf(suffix)}/`));
    const to = join(
      mirror,
      suite?.folder ?? '',
      decodeURIComponent(url.slice(uriOf(suite?.suffix ?? '').length + 1)),
    );
    await mkdir(dirname(to), { recursive: true });
    if (!existsSync(to))
      await rename(join(at, 'cache/archives', file), to).catch(() =>
        copyFile(join(at, 'cache/archives', file), to),
      );
  }
};
