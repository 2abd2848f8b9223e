import { FleetError, plainText } from '#bundles/errors';
import { askLine } from '#bundles/trust/keys/ask-line';

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };

export type Asking = {
  /** Flag that answers the question in a run without a terminal: '--yes', '--stick /media/two'. */
  readonly flag: string;
  readonly signal?: AbortSignal | undefined;
  readonly input?: Input;
  /** Default: standard error, so that standard output has only the result. */
  readonly output?: Output;
};

/**
 * Asks a question at the terminal.
 * @returns the line typed, without its end
 * @throws FleetError USAGE without a terminal, ABORTED for Ctrl-C, Ctrl-D and the signal
 */
export const ask = async (
  question: string,
  { flag, signal, input = process.stdin, output = process.stderr }: Asking,
): Promise<string> => {
  const hint = `Start it again, or answer with ${flag}`;
  if (canAsk({ input, output })) return askLine(plainText(question), { input, output, signal, hint });
  throw new FleetError('USAGE', `there is no terminal to answer ${JSON.stringify(question.trim())}`, {
    hint: `Answer with ${flag}, or start it at a terminal`,
  });
};

/** Whether both streams are terminals, so that a person can read the question and answer. */
export const canAsk = ({
  input = process.stdin,
  output = process.stderr,
}: Pick<Asking, 'input' | 'output'> = {}): boolean => input.isTTY === true && output.isTTY === true;
