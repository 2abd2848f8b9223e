/** The template of an instance: 'web@1.service' -> 'web@.service'. Other names are returned as they are. */
export const templateOf = (unit: string): string => unit.replace(/@.*(\.[a-z]+)$/, '@$1');

/** True for 'web@.service', of which systemd has instances only: it has no state of its own. */
export const isTemplate = (unit: string): boolean => /@\.[a-z]+$/.test(unit);

/**
 * The folders from which systemd reads drop-ins for a unit of this name, without the directories of the search path (systemd.unit(5)):
 * 'a-b@1.service' -> 'a-b@1.service.d', 'a-b@.service.d', 'a-@1.service.d', 'a-@.service.d', 'a-.service.d', 'service.d'. Podman reads
 * those of quadlets by the same rule (podman-systemd.unit(5)).
 */
export const dropInFolders = (name: string): ReadonlySet<string> => {
  const [, prefix = '', instance = '', type = ''] = /^([^@]*)(@.*)?\.([a-z]+)$/.exec(name) ?? [];
  if (type === '') return new Set();
  const prefixes = [...prefix.slice(0, -1).matchAll(/-/g)].map(({ index }) => prefix.slice(0, index + 1));
  const names = [
    name,
    templateOf(name),
    ...prefixes.flatMap((one) => [
      `${one}${instance}.${type}`,
      templateOf(`${one}${instance}.${type}`),
      `${one}.${type}`,
    ]),
    type,
  ];
  return new Set(names.map((one) => `${one}.d`));
};
