import { FleetError, toFleetError } from '#bundles/errors';
import { isStartFailure, runProcess } from '#bundles/run-process';
import { withoutSecrets } from '#bundles/without-secrets';
import { cutText } from '#cli/cut-text';

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
export const openCtr = (socket: string, env: NodeJS.ProcessEnv): Ctr => {
  const call = (args: readonly string[], { signal, input }: CtrOptions) => {
    const limit = input ? [] : ['--timeout', '60s'];
    const place = ['--address', socket, '--namespace', 'k8s.io', '--connect-timeout', '5s'];
    return runProcess(['ctr', ...place, ...limit, ...args], {
      env: withoutSecrets(env),
      signal,
      input: input && readable(input),
      maxOutput: MAX_OUTPUT,
    }).catch((error: unknown) => {
      throw isStartFailure(error) ? cannotRun(error) : error;
    });
  };
  return async (args, options) => {
    const { code, endedBy, stdout, stderr } = await call(args, options);
    if (code === 0) return stdout;
    // The words of ctr differ from version to version; whether containerd answers does not.
    const asked = await call(['version'], { signal: options.signal });
    throw asked.code === 0
      ? refused(lastLine(stderr), endedBy ?? code)
      : unreachable(lastLine(asked.stderr), socket);
  };
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

const lastLine = (said: string): string =>
  cutText(
    said
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^ctr: /, '') ?? '',
    500,
  );

const unreachable = (line: string, socket: string): FleetError =>
  new FleetError('CONTAINERD_UNREACHABLE', `containerd does not answer at ${socket}: ${line}`, {
    hint: 'Is it running, and is this its socket? The key containerd in the configuration names it',
  });

const refused = (line: string, end: number | NodeJS.Signals): FleetError =>
  line.includes('no space left on device')
    ? new FleetError('DISK_FULL', `the disk of containerd is full: ${line}`, {
        hint: 'Free some space there and run it again; nothing was lost',
      })
    : new FleetError('IMAGE_REFUSED', `ctr ended with ${end}: ${line || 'it said nothing'}`, {
        hint: 'journalctl -u containerd on the node says more',
      });
