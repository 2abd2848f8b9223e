import { readFile } from 'node:fs/promises';

/** One mount that this process sees (proc_pid_mountinfo(5)). */
export type Mount = {
  /** 'major:minor' of its file system. */
  readonly device: string;
  /** The directory of the file system that is mounted: '/' unless it is a bind mount or a subvolume. */
  readonly root: string;
  readonly point: string;
};

/** All mounts, later ones over earlier ones; none where the kernel does not tell. */
export const readMounts = async (): Promise<readonly Mount[]> =>
  parseMounts(await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''));

export const parseMounts = (text: string): readonly Mount[] =>
  text.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ');
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, root: unescape(root), point: unescape(point) }];
  });

/** The kernel writes space, tab, line feed and backslash as three octal digits. */
const unescape = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)));

/**
 * All names of a directory by mounts of the same file system, `path` among them, in the order of the mounts: the file system of a bind
 * mount is mounted before it. A name may be hidden by another mount, so the caller compares what is there.
 * @param path absolute, without links
 */
export const namesByMounts = (mounts: readonly Mount[], path: string): readonly string[] => {
  const own = mounts.reduce<Mount | undefined>(
    (best, mount) =>
      covers(mount.point, path) && mount.point.length >= (best?.point.length ?? 0) ? mount : best,
    undefined,
  );
  if (own === undefined) return [path];
  const inside = join(own.root, below(own.point, path));
  return mounts
    .filter(({ device, root }) => device === own.device && covers(root, inside))
    .map(({ root, point }) => join(point, below(root, inside)));
};

const covers = (above: string, path: string): boolean =>
  above === '/' || path === above || path.startsWith(`${above}/`);

/** The rest of a path behind one that covers it: '' or '/b/c'. */
const below = (above: string, path: string): string =>
  path === '/' || above !== '/' ? path.slice(above.length) : path;

const join = (above: string, rest: string): string => (above === '/' ? rest || '/' : `${above}${rest}`);
