const ROOT_FILE = /^\d{1,9}\.root\.json$/;

/** As TUF names them with consistent snapshots: `<version>.root.json`. */
export const isRootFile = (name: string): boolean => ROOT_FILE.test(name);

export const rootFileName = (version: number): string => `${version}.root.json`;
