import { FleetError } from '#bundles/errors';
import { isStartFailure, runProcess } from '#bundles/run-process';
import { type PublicKey, type SigningKey, verifySignature } from '#bundles/trust/keys/key';

/** A command that signs with a key that is not in a file: in hardware, in a KMS, or on a machine reached by ssh. */
export type SigningCommand = {
  /** Program and arguments; no shell. */
  readonly command: readonly string[];
  readonly public: PublicKey;
  /** Name of the key in messages, such as 'release key'. */
  readonly what: string;
  /** Working directory of the command. */
  readonly cwd: string;
  readonly timeoutMs: number;
};

/** Output limit. A P-256 signature has at most 72 bytes, 96 in base64, and some programs print further lines. */
const MAX_OUTPUT = 4096;
/** First byte of a DER signature. Its base64 form begins with M, so the two forms cannot be confused. */
const SEQUENCE = 0x30;

/**
 * A key that signs through a command. The command reads the bytes to sign (not their hash) from standard input and writes an
 * ECDSA signature over their SHA-256, DER-encoded, as binary or base64. Every signature is verified before it is returned.
 * `sign` rejects with FleetError SIGN_FAILED.
 */
export const commandKey = (order: SigningCommand): SigningKey => ({
  public: order.public,
  sign: async (bytes) => {
    const output = await run(order, bytes);
    const signature = output[0] === SEQUENCE ? output : Buffer.from(output.toString('latin1'), 'base64');
    if (isSignature(order.public, bytes, signature)) return signature;
    throw new FleetError(
      'SIGN_FAILED',
      `the output of the signing command of the ${order.what} is not a signature by ${order.public.hint}`,
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

const run = async (order: SigningCommand, bytes: Uint8Array): Promise<Buffer> => {
  const { command, cwd, timeoutMs, what } = order;
  const [program = ''] = command;
  const failed = (why: string, cause?: unknown): FleetError =>
    new FleetError('SIGN_FAILED', `the signing command of the ${what} ${why}`, {
      cause,
      hint: `Run it by hand: ${program}`,
    });
  const options = { cwd, env: process.env, timeoutMs, maxOutput: MAX_OUTPUT, input: [bytes] };
  const { code, endedBy, stopped, stdout, stderr } = await runProcess(command, options).catch(
    (cause: unknown) => {
      if (!isStartFailure(cause)) throw cause;
      throw failed(
        cause.code === 'ENOENT' ? `cannot be found: ${program}` : `cannot be run: ${cause.message}`,
        cause,
      );
    },
  );
  if (stopped === 'timeout') throw failed(`did not end within ${timeoutMs / 1000} s`);
  if (stopped === 'output') throw failed('writes too much');
  if (code === 0) return stdout;
  const why = lastLines(stderr);
  throw failed(`ended with ${endedBy ?? code}${why === '' ? '' : `: ${why}`}`);
};

/** The last line alone is often only "Aborting." */
const lastLines = (stderr: string): string => {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.slice(-3).join('; ').slice(-400);
};
