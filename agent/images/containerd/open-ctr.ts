import { FleetError, toFleetError } from '#bundles/errors';
import { isStartFailure, runProcess } from '#bundles/run-process';

export type CtrOptions = {
  readonly signal: AbortSignal;
  /** Standard input of ctr. An error of it is thrown on. */
  readonly input?: AsyncIterable<Uint8Array>;
};

/** One call of containerd's own client in the namespace that Kubernetes uses. @returns its standard output */
export type Ctr = (args: readonly string[], options: CtrOptions) => Promise<Buffer>;

/** Lists of ctr name every blob of a node: less than a megabyte for ten thousand. */
const MAX_OUTPUT = 64 << 20;

/**
 * The client for a node's containerd. A query may take a minute, an import as long as it needs.
 * @param env its PATH is searched for ctr
 * @returns a function that rejects with TOOL_MISSING, CONTAINERD_UNREACHABLE, IMAGE_REFUSED, DISK_FULL, ABORTED or the error of
 * the input
 */
export const openCtr =
  (socket: string, env: NodeJS.ProcessEnv): Ctr =>
  async (args, { signal, input }) => {
    const limit = input ? [] : ['--timeout', '60s'];
    const place = ['--address', socket, '--namespace', 'k8s.io', '--connect-timeout', '5s'];
    const { code, endedBy, stdout, stderr } = await runProcess(['ctr', ...place, ...limit, ...args], {
      env,
      signal,
      input: input && readable(input),
      maxOutput: MAX_OUTPUT,
    }).catch((error: unknown) => {
      throw isStartFailure(error) ? cannotRun(error) : error;
    });
    if (code === 0) return stdout;
    throw refused(stderr, socket, endedBy ?? code);
  };

async function* readable(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* input;
  } catch (error) {
    throw toFleetError(error, 'reading an image');
  }
}

const cannotRun = (cause: NodeJS.ErrnoException): FleetError => {
  if (cause.code !== 'ENOENT') return toFleetError(cause, 'running ctr');
  return new FleetError(
    'TOOL_MISSING',
    'there is no ctr on this machine, which imports images into containerd',
    {
      cause,
      hint: 'Install the package containerd (containerd.io from Docker), or put the folder where ctr is on the PATH',
    },
  );
};

const refused = (said: string, socket: string, end: number | NodeJS.Signals): FleetError => {
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
  return new FleetError('IMAGE_REFUSED', `ctr ended with ${end}: ${line || 'it said nothing'}`, {
    hint: 'journalctl -u containerd on the node says more',
  });
};
