import { FleetError, toFleetError } from '#bundles/errors';

/** SQLite's failures by our names; those of the operating system and ours pass. */
export const storeError = (error: unknown, doing: string): FleetError => {
  if (error instanceof FleetError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const said = `${doing}: ${error instanceof Error ? error.message : String(error)}`;
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new FleetError('BUSY', said, {
      cause: error,
      hint: 'Another command is writing; run this one again',
    });
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    return new FleetError('STORE_CORRUPT', said, { cause: error });
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN') || code === 'SQLITE_PERM')
    return new FleetError('PERMISSION', said, { cause: error });
  if (code.startsWith('SQLITE_IOERR')) return new FleetError('IO', said, { cause: error });
  return toFleetError(error, doing);
};
