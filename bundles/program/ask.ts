import { FleetError, plainText } from '../errors.ts';
import { askLine } from './ask-line.ts';

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };

export type Asking = {
  /** What answers the question where nobody can be asked, as it is typed: '--yes', '--stick /media/two'. */
  readonly flag: string;
  readonly signal?: AbortSignal | undefined;
  readonly input?: Input;
  /** Standard error unless said, so that `--json` on standard output stays clean. */
  readonly output?: Output;
};

/**
 * Asks the person at the keyboard.
 * @returns what was typed, without the end of the line
 * @throws FleetError USAGE where nobody is there, ABORTED for Ctrl-C, Ctrl-D and the signal
 */
export const ask = async (
  question: string,
  { flag, signal, input = process.stdin, output = process.stderr }: Asking,
): Promise<string> => {
  const hint = `Start it again, or answer with ${flag}`;
  if (canAsk({ input, output })) return askLine(plainText(question), { input, output, signal, hint });
  throw new FleetError('USAGE', `nobody is there to answer ${JSON.stringify(question.trim())}`, {
    hint: `Answer with ${flag}, or start it at a terminal`,
  });
};

/** Is somebody there who reads the question and can type an answer? */
export const canAsk = ({
  input = process.stdin,
  output = process.stderr,
}: Pick<Asking, 'input' | 'output'> = {}): boolean => input.isTTY === true && output.isTTY === true;
