import {
  type ColumnDefinitionNode,
  DataTypeNode,
  type Dialect,
  PostgresDialect,
  PostgresQueryCompiler,
  RawNode,
} from 'kysely';
import type { Socket } from 'node:net';
import { type ClientBase, type ClientConfig, type CustomTypesConfig, Pool, types as catalogue } from 'pg';
import { FleetError, toFleetError } from '#bundles/errors';
import { describeDatabase } from '../../settings/database-url.ts';

/** Connections of one process: one writer at a time, the others read. */
const MAX_CONNECTIONS = 10;

/** How long a connection may take to open before it fails. */
const CONNECT_TIMEOUT_MS = 10_000;

/** How long a writer waits for another before BUSY. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * Statements for each connection. PgBouncer refuses the same settings in the startup packet. The hub's questions are small: without
 * statistics of the tables PostgreSQL takes them for large and compiles their plans (PostgreSQL, "Just-in-Time Compilation"), for seconds.
 */
const SETTINGS = `set lock_timeout = ${LOCK_TIMEOUT_MS}; set jit = off`;

/**
 * Prepares a new connection. After a failover the address may lead to a standby for a while: a connection to it would be kept, and every
 * write on it would fail. @throws FleetError DATABASE_UNREACHABLE
 */
const prepare = async (client: ClientBase, url: string): Promise<void> => {
  await client.query(SETTINGS);
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  if (rows[0]?.standby !== true) return;
  throw new FleetError(
    'DATABASE_UNREACHABLE',
    `the server of ${describeDatabase(url)} is a standby and takes no writes`,
    {
      hint: 'Promote it, or let the address of the database lead to the primary',
    },
  );
};

/** Types of PostgreSQL's catalogue that arrive as text, although the hub's numbers are integers below 2^53: bigint and sums of them. */
const NUMBERS: ReadonlySet<number> = new Set([catalogue.builtins.INT8, catalogue.builtins.NUMERIC]);

const types: CustomTypesConfig = {
  getTypeParser: (oid: Parameters<typeof catalogue.getTypeParser>[0], format?: 'text' | 'binary') =>
    NUMBERS.has(oid) ? Number : catalogue.getTypeParser(oid, format ?? 'text'),
};

/**
 * Connection options for `url`. Its parameters (sslmode, sslrootcert) take precedence; missing ones come from the environment
 * variables and the password file of libpq.
 */
export const connectionTo = (url: string): ClientConfig => ({
  connectionString: url,
  application_name: 'fleet-scheduler',
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  types,
});

/** pg has no option for it, and its query_timeout leaves the connection in the pool. */
const streamOf = (client: ClientBase): Socket =>
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;

/**
 * A pool of connections to a PostgreSQL database. A commit that returned survives a power failure, as the server is configured.
 * @param silenceMs how long a connection in use may bring nothing before it counts as lost; 0 for no limit. A machine that loses its power
 *   closes no connection, and the system waits for it for a quarter of an hour
 */
export const openPostgres = (url: string, silenceMs: () => number = () => 0): Dialect => {
  const pool = new Pool({
    ...connectionTo(url),
    max: MAX_CONNECTIONS,
    // The pool waits for it, although its types do not say so.
    onConnect: (client): unknown => prepare(client, url),
  });
  // An idle connection that the server closes is replaced at the next query, which then reports an error.
  pool.on('error', () => {});
  // Neither does a connection that breaks in use end the process: its query, or the next one, fails.
  pool.on('connect', (client) => {
    client.on('error', () => {});
    const stream = streamOf(client);
    stream.on('timeout', () =>
      stream.destroy(new Error('Connection terminated: the server does not answer')),
    );
  });
  pool.on('acquire', (client) => streamOf(client).setTimeout(silenceMs()));
  const dialect = new PostgresDialect({ pool });
  return {
    createDriver: () => dialect.createDriver(),
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => new TextCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
};

const BYTEWISE_TEXT = RawNode.createWithSql('text collate "C"');

/**
 * Orders text columns by bytes as in SQLite, regardless of the locale of the database. PostgreSQL's text has no NUL: U+FFFD
 * replaces it in stored values and in parameters. Signed lines do not change, as JSON escapes it.
 */
class TextCompiler extends PostgresQueryCompiler {
  protected override appendValue(value: unknown): void {
    super.appendValue(typeof value === 'string' ? value.replaceAll('\0', '\u{fffd}') : value);
  }

  protected override visitColumnDefinition(node: ColumnDefinitionNode): void {
    const { dataType } = node;
    const isText = DataTypeNode.is(dataType) && dataType.dataType === 'text';
    super.visitColumnDefinition(isText ? { ...node, dataType: BYTEWISE_TEXT } : node);
  }
}

/** ENOENT: the socket of a server on this machine, which is gone while the server is. */
const LOST: ReadonlySet<string> = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** How pg describes a connection that ended or never opened, in errors without a code. */
const LOST_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|Client (?:has encountered a connection error|was closed)/;

/** Maps errors of PostgreSQL (Appendix A, "Error Codes") and of the connection to FleetError codes. */
export const postgresError = (error: unknown, doing: string): FleetError => {
  if (error instanceof FleetError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = `${doing}: ${error instanceof Error ? error.message : String(error)}`;
  const as = (name: ConstructorParameters<typeof FleetError>[0], hint?: string): FleetError =>
    new FleetError(name, message, { cause: error, hint });
  if (code === '55P03' || code === '40P01' || code === '40001')
    return as('BUSY', 'Another command is writing; run this one again');
  if (code === '53100') return as('DISK_FULL', 'Free some space on the database server and run it again');
  if (code === '25006')
    return as(
      'DATABASE_UNREACHABLE',
      'The server takes no writes: is it a standby, or was it set read-only?',
    );
  if (code.startsWith('53'))
    return as('DATABASE_UNREACHABLE', 'The server has no connections or memory left: raise its limits');
  if (code === '42501' || code.startsWith('28')) return as('PERMISSION', 'Check the user and the password');
  if (code === '3D000') return as('USAGE', 'Create the database first');
  if (code.startsWith('XX')) return as('STORE_CORRUPT');
  if (code.startsWith('58')) return as('IO');
  if (LOST.has(code) || code.startsWith('08') || code.startsWith('57P') || LOST_MESSAGE.test(message))
    return as('DATABASE_UNREACHABLE', 'Check the address and that the server runs, then run it again');
  return toFleetError(error, doing);
};
