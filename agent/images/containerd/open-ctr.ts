import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FleetError, toFleetError } from '#bundles/errors';

export type CtrOptions = {
  readonly signal: AbortSignal;
  /** What it reads; when this throws, ctr sees its input end too early, and the error is thrown on. */
  readonly input?: AsyncIterable<Uint8Array>;
};

/** One call of containerd's own client in the namespace that Kubernetes uses. @returns its standard output */
export type Ctr = (args: readonly string[], options: CtrOptions) => Promise<Buffer>;

/** Its lists name every blob of a node: of ten thousand, less than a megabyte. */
const MAX_OUTPUT = 64 << 20;
const MAX_COMPLAINT = 16 << 10;
/** Whoever got the end of its input is done soon, or hangs. */
const GRACE_MS = 20_000;

/**
 * The client for a node's containerd. What only asks may take a minute; what brings in takes as long as it takes.
 * @param env its PATH says where ctr is
 * @throws FleetError (each call) TOOL_MISSING, CONTAINERD_UNREACHABLE, IMAGE_REFUSED, DISK_FULL, ABORTED, or what the
 * input threw
 */
export const openCtr =
  (socket: string, env: NodeJS.ProcessEnv): Ctr =>
  async (args, { signal, input }) => {
    signal.throwIfAborted();
    const limit = input ? [] : ['--timeout', '60s'];
    const child = spawn(
      'ctr',
      ['--address', socket, '--namespace', 'k8s.io', '--connect-timeout', '5s', ...limit, ...args],
      { env, stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'] },
    );
    const output = collect(child.stdout, MAX_OUTPUT);
    const complaint = collect(child.stderr, MAX_COMPLAINT);
    const kill = () => child.kill('SIGKILL');
    signal.addEventListener('abort', kill, { once: true });
    try {
      const ended = once(child, 'close') as Promise<[number | null]>;
      // Both may fail at once; what is not awaited yet must not end the process.
      ended.catch(() => undefined);
      const fed = input && child.stdin ? feed(input, child.stdin) : Promise.resolve(undefined);
      const unfed = await Promise.race([fed, ended.then(() => undefined)]);
      if (unfed) {
        const timer = setTimeout(kill, GRACE_MS);
        await ended.finally(() => clearTimeout(timer));
        throw unfed;
      }
      const [code] = await ended;
      if (signal.aborted) throw new FleetError('ABORTED', 'ctr was stopped before its end');
      if (code === 0) return output();
      throw refused(complaint().toString('utf8'), socket, code);
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('spawn')))
        throw error;
      throw cannotRun(error);
    } finally {
      signal.removeEventListener('abort', kill);
    }
  };

/** @returns the error of the input itself; that ctr stopped reading is for its own words to explain */
const feed = async (
  input: AsyncIterable<Uint8Array>,
  to: NodeJS.WritableStream,
): Promise<Error | undefined> => {
  let failed: Error | undefined;
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* input;
    } catch (error) {
      failed = toFleetError(error, 'reading an image');
      throw error;
    }
  };
  await pipeline(Readable.from(watched()), to).catch(() => undefined);
  return failed;
};

const collect = (stream: Readable | null, max: number): (() => Buffer) => {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    if (size < max) chunks.push(chunk.subarray(0, max - size));
    size += chunk.byteLength;
  });
  return () => Buffer.concat(chunks);
};

const cannotRun = (cause: Error): FleetError => {
  if ('code' in cause && cause.code !== 'ENOENT') return toFleetError(cause, 'running ctr');
  return new FleetError(
    'TOOL_MISSING',
    'there is no ctr on this machine, with which images get into containerd',
    {
      cause,
      hint: 'Install the package containerd (containerd.io from Docker), or put the folder where ctr is on the PATH',
    },
  );
};

const refused = (said: string, socket: string, code: number | null): FleetError => {
  const line =
    said
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^ctr: /, '')
      .slice(0, 500) ?? '';
  if (/failed to dial|connection refused|transport: error|no such file or directory.*dial/.test(said)) {
    return new FleetError('CONTAINERD_UNREACHABLE', `containerd does not answer at ${socket}: ${line}`, {
      hint: 'Is it running, and is this its socket? The key containerd in the configuration names it',
    });
  }
  if (said.includes('no space left on device')) {
    return new FleetError('DISK_FULL', `the disk of containerd is full: ${line}`, {
      hint: 'Free some space there and run it again; nothing was lost',
    });
  }
  return new FleetError(
    'IMAGE_REFUSED',
    `ctr ended with ${code ?? 'a signal'}: ${line || 'it said nothing'}`,
    {
      hint: 'journalctl -u containerd on the node says more',
    },
  );
};
