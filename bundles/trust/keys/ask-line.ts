import { createInterface } from 'node:readline';
import { FleetError } from '../../errors.ts';

export type AskOptions = {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Stream that echoes the input; by default the stream of the question. */
  readonly echo?: NodeJS.WritableStream | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Hint for the error if nothing was typed. */
  readonly hint?: string;
};

/**
 * Reads one line from a terminal. Readline switches the terminal's echo off and writes the typed text to `echo` instead.
 * @throws FleetError ABORTED for Ctrl-C, Ctrl-D and the signal
 */
export const askLine = (
  question: string,
  { input, output, echo = output, signal, hint }: AskOptions,
): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const unanswered = new FleetError('ABORTED', 'nothing was typed', hint === undefined ? {} : { hint });
  if (signal?.aborted) {
    reject(unanswered);
    return promise;
  }
  // Switches the echo off before the question is shown, so that no early input is displayed.
  const lines = createInterface({ input, output: echo, terminal: true, historySize: 0 });
  const stop = (): void => lines.close();
  signal?.addEventListener('abort', stop, { once: true });
  if (echo === output) {
    // Readline redraws the whole line, with the question, after a correction.
    lines.setPrompt(question);
    lines.prompt();
  } else output.write(question);
  let isEnded = false;
  lines.once('line', (line) => {
    isEnded = true;
    resolve(line);
    lines.close();
  });
  lines.once('SIGINT', stop);
  lines.once('close', () => {
    signal?.removeEventListener('abort', stop);
    if (!isEnded || echo !== output) output.write('\n');
    reject(unanswered);
  });
  return promise;
};
