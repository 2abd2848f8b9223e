import { FleetError, toFleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { describeDatabase, isDatabaseUrl } from '../../settings/database-url.ts';
import { type SessionLock, takeSessionLock } from '../store/session-lock.ts';
import { repeat } from './repeat.ts';

/** `lost` aborts when another hub may take the lock although this one was not disposed. */
export type HubLock = SessionLock;

/**
 * Takes the lock of the hub that builds, publishes and promotes: two would do it concurrently. Other commands do not take it. The
 * kernel, or the PostgreSQL server, releases it when the process ends for any reason.
 * @returns undefined while another replica leads with this PostgreSQL database
 * @throws FleetError BUSY if another hub serves with this SQLite file; for PostgreSQL PERMISSION, DATABASE_UNREACHABLE
 */
export const lockHub = async (
  db: string,
  onNotice: (payload: string) => void = () => {},
): Promise<HubLock | undefined> => {
  if (isDatabaseUrl(db)) return await lockDatabase(db, onNotice);
  const lock = lockFile(`${db}.hub-lock`);
  if (lock) return lock;
  throw new FleetError('BUSY', `another hub serves with ${describeDatabase(db)}`, {
    hint: 'Stop it first, or give another --db',
  });
};

const lockFile = (file: string): HubLock | undefined => {
  try {
    const lock = tryExclusiveLock(file);
    return (
      lock && {
        lost: new AbortController().signal,
        confirm: async () => {},
        [Symbol.asyncDispose]: async () => lock[Symbol.dispose](),
      }
    );
  } catch (error) {
    throw toFleetError(error, `locking ${file}`);
  }
};

/** Key of the advisory lock: the bytes of "fleethub". PostgreSQL keeps such locks apart for each database. */
const LOCK_KEY = '7380385375772505442';

/** Channel of NOTIFY on which replicas wake the leader. */
export const WAKE_CHANNEL = 'fleet_hub_wake';

const CONFIRM_MS = 2_000;
const ANSWER_MS = 5_000;

/**
 * The leader notices within CONFIRM_MS + ANSWER_MS that its connection is gone. The server gives the lock to another replica no
 * earlier: after its keepalives found no peer, or the session was idle as one of a process that is suspended.
 */
const SETTINGS = [
  'set tcp_keepalives_idle = 5',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 3',
  "set idle_session_timeout = '20s'",
  `listen ${WAKE_CHANNEL}`,
];

const lockDatabase = async (
  url: string,
  onNotice: (payload: string) => void,
): Promise<HubLock | undefined> => {
  const lock = await takeSessionLock(url, {
    key: LOCK_KEY,
    name: 'hub',
    settings: SETTINGS,
    answerMs: ANSWER_MS,
    onNotice,
  });
  if (!lock) return undefined;
  // A lock that is lost says so itself.
  const confirming = repeat(
    () => lock.confirm(),
    CONFIRM_MS,
    () => {},
  );
  return {
    ...lock,
    [Symbol.asyncDispose]: async () => {
      await confirming[Symbol.asyncDispose]();
      await lock[Symbol.asyncDispose]();
    },
  };
};
