const ROOT_FILE = /^\d{1,9}\.root\.json$/;

/** `<version>.root.json`, as TUF names roots with consistent snapshots. */
export const isRootFile = (name: string): boolean => ROOT_FILE.test(name);

export const rootFileName = (version: number): string => `${version}.root.json`;
