import { once } from 'node:events';
import { chmod, lstat, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';

/** Length of sun_path in unix(7), without the terminating zero. */
const MAX_PATH = 107;
/** Access for the socket's user and group only. */
const MODE = 0o660;
const SWEEP_MS = 20;

/**
 * Listens on a Unix socket that only its user and group can connect to. The socket of a process that has ended is replaced.
 * @throws FleetError BUSY if another process listens on it; USAGE if the path is too long or not a socket; PERMISSION, IO
 */
export const listenOnSocket = async (server: Server, path: string): Promise<AsyncDisposable> => {
  if (Buffer.byteLength(path) > MAX_PATH) {
    throw new FleetError('USAGE', `${path} is too long for a socket: at most ${MAX_PATH} bytes`, {
      hint: 'Choose a shorter one, as below /run',
    });
  }
  try {
    await checkFolder(path);
    await clear(path);
    server.listen(path);
    await once(server, 'listening');
    await chmod(path, MODE);
  } catch (error) {
    server.close();
    throw socketError(error, path);
  }
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      // Busy connections become idle after their response and would then stay open.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      await closed;
      clearInterval(sweep);
    },
  };
};

/** For a missing folder the system would report a permission error. @throws FleetError USAGE */
const checkFolder = async (path: string): Promise<void> => {
  const folder = dirname(path);
  if (await stat(folder).catch(() => undefined)) return;
  throw new FleetError('USAGE', `the folder ${folder} of the socket does not exist`, {
    hint: 'Make it first',
  });
};

const clear = async (path: string): Promise<void> => {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (!found) return;
  if (!found.isSocket())
    throw new FleetError('USAGE', `${path} exists and is not a socket`, {
      hint: 'Give --listen another path',
    });
  if (await answers(path)) {
    throw new FleetError('BUSY', `another process listens on ${path}`, {
      hint: 'Stop it first, or give --listen another path',
    });
  }
  await rm(path, { force: true });
};

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });

const socketError = (error: unknown, path: string): FleetError => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new FleetError('BUSY', `another process listens on ${path}`, { cause: error });
  return toFleetError(error, `listening on ${path}`);
};
