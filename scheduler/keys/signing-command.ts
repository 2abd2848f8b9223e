import { spawn } from 'node:child_process';
import { FleetError } from '#bundles/errors';
import { type PublicKey, type SigningKey, verifySignature } from '#bundles/trust/key';

/** How a key that is not in a file signs: hardware, a KMS, a machine behind ssh. */
export type SigningCommand = {
  /** Program and arguments; no shell. */
  readonly command: readonly string[];
  readonly public: PublicKey;
  /** What for, in messages: 'release key'. */
  readonly what: string;
  /** The folder it runs in. */
  readonly cwd: string;
  readonly timeoutMs: number;
};

/** A P-256 signature has at most 72 bytes, in base64 at most 96; some programs print a line beside it, which is none. */
const MAX_OUTPUT = 4096;
const MAX_SAID = 4096;
/** First byte of DER; base64 of it begins with an M, so the two are never taken for each other. */
const SEQUENCE = 0x30;

/**
 * A key behind a command: it gets the bytes to sign on standard input (not their hash) and writes the ECDSA signature over
 * their SHA-256, in DER, raw or as base64. The signature is verified before anybody gets it.
 */
export const commandKey = (order: SigningCommand): SigningKey => ({
  public: order.public,
  sign: async (bytes) => {
    const output = await run(order, bytes);
    const signature = output[0] === SEQUENCE ? output : Buffer.from(output.toString('latin1'), 'base64');
    if (isSignature(order.public, bytes, signature)) return signature;
    throw new FleetError(
      'SIGN_FAILED',
      `what the signing command of the ${order.what} wrote is no signature by ${order.public.hint}`,
      {
        hint: 'It must sign the bytes it reads, with SHA-256, by the key of the public file, and write DER or base64 of it',
      },
    );
  },
});

const isSignature = (key: PublicKey, bytes: Uint8Array, signature: Buffer): boolean => {
  try {
    return signature.length > 0 && verifySignature(key, bytes, signature);
  } catch {
    return false;
  }
};

const run = (order: SigningCommand, bytes: Uint8Array): Promise<Buffer> => {
  const { command, cwd, timeoutMs, what } = order;
  const [program = '', ...rest] = command;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const child = spawn(program, rest, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  const failed = (why: string, cause?: unknown): FleetError =>
    new FleetError('SIGN_FAILED', `the signing command of the ${what} ${why}`, {
      cause,
      hint: `Run it by hand: ${program}`,
    });
  const stop = (error: FleetError): void => {
    child.kill('SIGKILL');
    // A child of its own may hold the pipes open for ever.
    for (const stream of [child.stdout, child.stderr, child.stdin]) stream.destroy();
    reject(error);
  };
  const timer = setTimeout(() => stop(failed(`did not end within ${timeoutMs / 1000} s`)), timeoutMs);
  const output: Buffer[] = [];
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk);
    if (output.reduce((sum, { length }) => sum + length, 0) > MAX_OUTPUT) stop(failed('writes too much'));
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-MAX_SAID);
  });
  // One that ends without reading says why by its exit code.
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  child.on('error', (cause: NodeJS.ErrnoException) =>
    reject(
      failed(
        cause.code === 'ENOENT' ? `cannot be found: ${program}` : `cannot be run: ${cause.message}`,
        cause,
      ),
    ),
  );
  child.on('close', (code, signal) => {
    if (code === 0) return resolve(Buffer.concat(output));
    const line = said.trim().split('\n').at(-1)?.trim();
    reject(failed(`ended with ${code ?? signal}${line ? `: ${line}` : ''}`));
  });
  return promise.finally(() => clearTimeout(timer));
};
