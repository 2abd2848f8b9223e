import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/**
 * Ends connections that are still being made when `lifetime` ends; undici leaves them to their timeout. A signal in the options of the
 * connector would end them too, but Node keeps every socket on that signal, also after it was closed, and a daemon's client lives for months.
 */
export const endingWith =
  (lifetime: AbortSignal | undefined, connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) => {
    const stop = (): void => void socket.destroy(lifetime?.reason as Error);
    // The connectors of undici return the socket, which their type does not say.
    const socket = connect(options, (...result) => {
      lifetime?.removeEventListener('abort', stop);
      callback(...result);
    }) as unknown as Socket;
    lifetime?.addEventListener('abort', stop, { once: true });
  };
