const POSTGRES = /^postgres(?:ql)?:\/\//;

/** Is this the URL of a PostgreSQL database, rather than the path of a SQLite file? */
export const isDatabaseUrl = (db: string): boolean => POSTGRES.test(db);

/** A database as messages name it: a path unchanged, a URL without user, password and parameters. */
export const describeDatabase = (db: string): string => {
  if (!isDatabaseUrl(db)) return db;
  if (!URL.canParse(db)) return 'the PostgreSQL database';
  const { host, pathname } = new URL(db);
  return `postgres://${host}${pathname}`;
};
