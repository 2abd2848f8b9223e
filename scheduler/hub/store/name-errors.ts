import type { DatabaseConnection, Dialect, Driver } from 'kysely';
import type { FleetError } from '#bundles/errors';

/** Maps an error of a database to a FleetError; INTERNAL for an unknown one. */
export type StoreError = (error: unknown, doing: string) => FleetError;

/** A dialect whose connections fail with the codes of `storeError`. Errors without a code of their own stay as they are. */
export const withNamedErrors = (dialect: Dialect, storeError: StoreError, doing: string): Dialect => {
  const named = (error: unknown): unknown => {
    const known = storeError(error, doing);
    return known.code === 'INTERNAL' ? error : known;
  };
  return {
    createDriver: () => nameErrorsOf(dialect.createDriver(), named),
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
};

/** The driver knows its connections by their identity, so they are changed and not wrapped. */
const nameErrorsOf = (driver: Driver, named: (error: unknown) => unknown): Driver => {
  const seen = new WeakSet<DatabaseConnection>();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async (options) => {
    try {
      const connection = await acquire(options);
      if (seen.has(connection)) return connection;
      seen.add(connection);
      const execute = connection.executeQuery.bind(connection);
      connection.executeQuery = async (query, given) => {
        try {
          return await execute(query, given);
        } catch (error) {
          throw named(error);
        }
      };
      return connection;
    } catch (error) {
      throw named(error);
    }
  };
  return driver;
};
