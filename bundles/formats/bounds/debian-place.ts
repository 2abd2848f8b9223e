/** Links that every Debian since 12 has: merged /usr (file-hierarchy(7)), and the old names of /run. */
const LINKS: readonly (readonly [string, string])[] = [
  ...['bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin'].map((name) => [`/${name}`, `/usr/${name}`] as const),
  ['/var/lock', '/run/lock'],
  ['/var/run', '/run'],
];

/** The path with those links resolved: '/lib/x' -> '/usr/lib/x'. Two paths with one place are one file on every host. */
export const debianPlace = (path: string): string => {
  const link = LINKS.find(([name]) => path.startsWith(`${name}/`));
  return link ? `${link[1]}${path.slice(link[0].length)}` : path;
};
