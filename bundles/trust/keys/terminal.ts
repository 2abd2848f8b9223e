import { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { askLine } from './ask-line.ts';

/** Asks the user questions. */
export type Terminal = {
  readonly ask: (question: string) => Promise<string>;
  /** The typed text is not shown. */
  readonly askHidden: (question: string) => Promise<string>;
};

type Streams = { readonly input: ReadStream; readonly output: NodeJS.WritableStream };

/** @returns undefined when standard input is not a terminal */
export const openTerminal = ({ input, output }: Streams): Terminal | undefined => {
  if (!input.isTTY) return undefined;
  // Concurrent questions are asked one after the other.
  let before: Promise<unknown> = Promise.resolve();
  const next = (question: string, echo: NodeJS.WritableStream): Promise<string> => {
    const askNow = (): Promise<string> => askLine(question, { input, output, echo });
    const answer = before.then(askNow, askNow);
    before = answer;
    return answer;
  };
  return {
    ask: (question) => next(question, output),
    askHidden: (question) => next(question, nowhere()),
  };
};

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

let ofProcess: Terminal | undefined;

/** The terminal this process was started from; its questions go to standard error. */
export const processTerminal = (): Terminal | undefined => {
  ofProcess ??= openTerminal({ input: process.stdin, output: process.stderr });
  return ofProcess;
};
