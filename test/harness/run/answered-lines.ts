import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';

/** How the process ended before it answered. */
export type NoAnswer = { readonly code: number; readonly stderr: string };

/** Sends a request and resolves with its answer, or with NoAnswer if the process ends before. */
export type AskLines<Request, Answer> = (
  request: Request,
) => Promise<{ readonly answer: Answer } | { readonly noAnswer: NoAnswer }>;

type Asked<Answer> = Awaited<ReturnType<AskLines<never, Answer>>>;

/**
 * Asks a process that answers each line of JSON `[id, request]` with a line `[id, answer]`, in any order. The first request starts it, and
 * the first one after its end starts it again.
 */
export const askLines = <Request, Answer>(
  start: () => ChildProcessWithoutNullStreams,
): AskLines<Request, Answer> => {
  let process: ChildProcessWithoutNullStreams | undefined;
  let asked = new Map<number, (answer: Asked<Answer>) => void>();
  let last = 0;

  const open = (): ChildProcessWithoutNullStreams => {
    const opened = start();
    const own = new Map<number, (answer: Asked<Answer>) => void>();
    let stderr = '';
    opened.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    // A write to a process that has ended: its requests get NoAnswer.
    opened.stdin.on('error', () => {});
    createInterface({ input: opened.stdout }).on('line', (line) => {
      const [id, answer] = JSON.parse(line) as [number, Answer];
      own.get(id)?.({ answer });
      own.delete(id);
    });
    opened.once('close', (code) => {
      if (process === opened) process = undefined;
      for (const answer of own.values()) answer({ noAnswer: { code: code ?? 137, stderr } });
    });
    asked = own;
    return opened;
  };

  return (request) =>
    new Promise((resolve) => {
      process ??= open();
      last += 1;
      asked.set(last, resolve);
      process.stdin.write(`${JSON.stringify([last, request])}\n`);
    });
};
