import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import querystring from 'node:querystring';

export type GitServer = AsyncDisposable & {
  /** 'http://127.0.0.1:PORT'; the repository root/x.git is at url + '/x.git'. */
  readonly url: string;
};

/**
 * Serves the bare repositories under `root` over smart HTTP, clone and push, on a free port of the loopback.
 * Each request is one `git http-backend`, spoken to by CGI (git-http-backend(1), RFC 3875).
 */
export const startGitServer = async (root: string): Promise<GitServer> => {
  const server = createServer((request, response) => {
    const backend = spawn('git', ['http-backend'], { env: cgiEnvironment(request, root) });
    backend.on('error', (error) => response.destroy(error));
    backend.stdin.on('error', () => {});
    response.on('close', () => backend.kill());
    request.pipe(backend.stdin);
    answer(backend, response);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
};

const cgiEnvironment = (request: IncomingMessage, root: string): NodeJS.ProcessEnv => {
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  return {
    PATH: process.env['PATH'],
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    // Anyone on the loopback may push; the repositories may belong to another user.
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'http.receivepack',
    GIT_CONFIG_VALUE_0: 'true',
    GIT_CONFIG_KEY_1: 'safe.directory',
    GIT_CONFIG_VALUE_1: '*',
    GIT_PROTOCOL: request.headers['git-protocol']?.toString(),
    GATEWAY_INTERFACE: 'CGI/1.1',
    REQUEST_METHOD: request.method,
    PATH_INFO: querystring.unescape(path),
    QUERY_STRING: query,
    CONTENT_TYPE: request.headers['content-type'],
    CONTENT_LENGTH: request.headers['content-length'],
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    REMOTE_USER: 'anyone',
    REMOTE_ADDR: '127.0.0.1',
  };
};

/** CGI output is a head of 'Name: value' lines, an empty line, and the body. */
const answer = (backend: ChildProcessWithoutNullStreams, response: ServerResponse): void => {
  let head = Buffer.alloc(0);
  const readHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    backend.stdout.off('data', readHead);
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on('data', readHead);
  backend.stdout.on('end', () => {
    if (response.headersSent) return;
    response.statusCode = 500;
    response.end('git http-backend gave no answer\n');
  });
};
